// Package app is runs as a terminal application: the list of a repository's runs and of
// the gates that wait, one run as a tree with its log, a gate with all that is needed to
// answer it, and the conversation of a session.
//
// It reads the documents of package api through a Looker, changes something through a
// Steerer, and knows nothing of hosts. Update decides from messages alone: whatever asks
// or waits is a command, and the time is what messages say. Formatting that the printed
// views share is package tui's; every frame passes tui.Safe, so that nothing that agents,
// models and repositories wrote steers the terminal.
package app

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

// framesPerSecond bounds how often the terminal is drawn.
const framesPerSecond = 10

// Looker looks at what is recorded.
type Looker interface {
	// Look has fn look at the host where one lives, else at the record itself; live
	// tells which. Where the host leaves meanwhile fn is called once more.
	Look(ctx context.Context, fn func(v api.View, live bool) error) error
}

// Steerer changes something; each answers with what came of it, in words.
type Steerer interface {
	Answer(ctx context.Context, run agency.RunID, r api.AnswerRequest) (string, error)
	// Say sends a text to an agent or a role; an empty to is whoever leads the run.
	Say(ctx context.Context, run agency.RunID, to, text string) (string, error)
	Change(ctx context.Context, run agency.RunID, c Change) (string, error)
	// Start starts a run on a goal, as the command run --detach does.
	Start(ctx context.Context, goal string) (agency.RunID, string, error)
}

// Change is what a person does to a whole run.
type Change string

// The changes.
const (
	Pause  Change = "pause"
	Resume Change = "resume"
	Cancel Change = "cancel"
)

// Options say what is shown, and to whom.
type Options struct {
	Looker  Looker
	Steerer Steerer
	Repo    string       // the repository's name, for the title
	Run     agency.RunID // that is shown first; empty: the list
	Style   tui.Style
	Zone    *time.Location // of the times shown; nil: UTC
	Now     func() time.Time
	After   int64     // events up to here are not in the log
	From    time.Time // nor are those before
	Verbose bool      // the log begins with every event
}

// Terminal is what the application is drawn on. In and Out are the terminal's files.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	Env []string
}

// Run shows the application until the person leaves it or ctx ends, and leaves the
// terminal as it was. A context that ended is its error.
func Run(ctx context.Context, o Options, t Terminal) error {
	// One processor draws ten frames a second with ease; where there are more, threads that look
	// for work take a fifth of all that the application takes of a core.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	// The library's own handler of signals waits for ever where the context ends first.
	told, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	inner, cancel := context.WithCancel(told)
	work := newWork(inner, o)
	defer work.wait()
	defer cancel()
	profile := colorprofile.ANSI
	if !o.Style.Color {
		profile = colorprofile.ASCII
	}
	p := tea.NewProgram(New(o, work), tea.WithContext(told), tea.WithoutSignalHandler(), tea.WithInput(t.In), tea.WithOutput(t.Out),
		tea.WithEnvironment(t.Env), tea.WithFPS(framesPerSecond), tea.WithColorProfile(profile))
	_, err := p.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case told.Err() != nil, errors.Is(err, tea.ErrInterrupted): // looking succeeded, however it ended
		return nil
	}
	return err
}
