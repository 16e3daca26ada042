package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/ui/prompt"
	"agency/internal/ui/tui"
	termapp "agency/internal/ui/tui/app"
)

// terminal is where a command prints, and the person who may be there.
type terminal struct {
	out, err *tui.Screen // what others wrote comes out of them clean
	style    tui.Style
	errStyle tui.Style // of what err writes to
	// seen tells that a person sees what is printed, or that it goes where errors go.
	seen bool
	// told are the notes on what a run starts with.
	told []string
	// width is how many columns the terminal has now; nil where there is none.
	width func() int
}

// repository is a command with the repository that it is about.
type repository struct {
	terminal
	env func(string) (string, bool)
	now func() time.Time
	dir string // --repo
}

// app is a command that starts or steers runs.
type app struct {
	repository
	signals chan os.Signal
	goos    string // the system, as runtime.GOOS names it
}

// run parses and performs one command and returns its exit code.
func run(args []string) int {
	a := &app{repository: repository{terminal: terminal{style: styleOf(os.Stdout), errStyle: styleOf(os.Stderr)}, env: os.LookupEnv, now: time.Now}, goos: runtime.GOOS}
	a.out, a.err = tui.NewScreen(os.Stdout, a.style), tui.NewScreen(os.Stderr, tui.Style{})
	a.seen = term.IsTerminal(int(os.Stdout.Fd())) || sameFile(os.Stdout, os.Stderr)
	if a.style.Width > 0 {
		a.width = func() int { return widthOf(os.Stdout) }
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if ctx.Err() != nil && err != nil {
		err = errInterrupted
	}
	a.report(err)
	return codeOf(err)
}

// onTerminal tells whether a person sits at both ends of the program.
func onTerminal() bool {
	return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
}

// away tells that the terminal is another program's at the moment.
func away() bool { return !prompt.InFront(os.Stdout) }

// ownTerminal is what an application is drawn on, whose frames are screened by itself.
func ownTerminal() termapp.Terminal {
	return termapp.Terminal{In: os.Stdin, Out: os.Stdout, Env: os.Environ()}
}

// styleOf says what a file can show. CI and a file that is no terminal turn colour and
// animation off, NO_COLOR colour alone.
func styleOf(f *os.File) tui.Style {
	_, plain := os.LookupEnv("NO_COLOR")
	_, ci := os.LookupEnv("CI")
	if !term.IsTerminal(int(f.Fd())) {
		return tui.Style{}
	}
	live := !ci && os.Getenv("TERM") != "dumb"
	return tui.Style{Color: live && !plain, Live: live, Width: widthOf(f)}
}

// sameFile tells whether two outputs go to one place.
func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

// usualWidth is taken for that of a terminal which does not know its own, as that of a recorder.
const usualWidth = 80

// widthOf is how many columns a terminal has.
func widthOf(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return usualWidth
	}
	return width
}

// besideGate is how many rows of a terminal are left for what follows a gate.
const besideGate = 5

// foldNow is how many lines a gate takes on the terminal where all of it is not asked for.
func foldNow() int {
	_, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0
	}
	return max(1, height-besideGate)
}

// styleNow is the style in the terminal's present width.
func (t *terminal) styleNow() tui.Style {
	st := t.style
	if t.width != nil {
		st.Width = t.width()
	}
	return st
}

// aside is the command with all that it says beside its answer where errors go.
func aside(a *app) *app {
	b := *a
	b.out, b.style, b.width = a.err, a.errStyle, nil
	return &b
}

// exit is an end of a command with a code of its own; its text has been said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Exit codes (docs/design.md, Gates).
const (
	exitFailed      = 1
	exitUsage       = 2
	exitWaiting     = 3
	exitEnvironment = 4
	exitInterrupted = 130
)

var errInterrupted = exit(exitInterrupted)

// codeOf is the exit code of an error by its kind: 2 for what is mended by
// typing or editing, 4 for what is outside.
func codeOf(err error) int {
	var e exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return int(e)
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	switch agency.KindOf(err) {
	case agency.KindInvalid, agency.KindNotFound, agency.KindConflict, agency.KindDenied:
		return exitUsage
	case agency.KindTransient:
		return exitEnvironment
	default:
		return exitFailed
	}
}

// report says an error once: what failed and why, and the step that mends it.
func (t *terminal) report(err error) {
	var e exit
	if err == nil || errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return
	}
	text := strings.TrimRight(tui.Clean(err.Error()), "\n")
	t.note("%s", text)
	if mend := agency.MendOf(err); mend != "" && !strings.Contains(text, mend) {
		t.printf(t.err, "%s\n", "  mend: "+tui.Clean(mend))
	}
}

// printf prints for people, fitted to the terminal. A reader that has gone is no failure of
// what the command did.
func (t *terminal) printf(w io.Writer, format string, args ...any) {
	st := t.errStyle
	if w == t.out {
		st = t.styleNow()
	}
	_, _ = io.WriteString(w, tui.Fit(st, fmt.Sprintf(format, args...)))
}

// note is for people, beside what a command prints.
func (t *terminal) note(format string, args ...any) {
	t.printf(t.err, "agency: "+format+"\n", args...)
}

// tell is a note on what a run starts with.
func (t *terminal) tell(format string, args ...any) {
	t.told = append(t.told, fmt.Sprintf(format, args...))
	t.note(format, args...)
}

// said are the notes on what a run starts with, so far.
func (t *terminal) said() []string { return append([]string{}, t.told...) }

func usage(format string, args ...any) *agency.Error {
	return agency.Errorf(agency.KindInvalid, format, args...)
}

// who is the name under which a person's answers are kept.
func who() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return fmt.Sprintf("user %d", os.Getuid())
}

// agentsRun refuses commands that let agents work where no system keeps their
// commands in (docs/design.md, Platforms).
func (a *app) agentsRun() error {
	if a.goos != "windows" {
		return nil
	}
	return agency.Errorf(agency.KindTransient, "agents do not work on Windows itself: it has no sandbox for their commands").
		WithMend("wsl --install, then run agency in WSL2, in a clone that lies there")
}

// walls refuses a configuration that wants a sandbox where the system has none
// for anybody. Linux may have one; the host finds out.
func (a *app) walls(cfg config.Config) error {
	if a.goos == "linux" || cfg.Sandbox.Mode == config.SandboxOff {
		return nil
	}
	return agency.Errorf(agency.KindTransient, "%s has no sandbox: commands of agents would run with your rights", systemName(a.goos)).
		WithMend("run agency on Linux, or accept that: set sandbox: {mode: \"off\"} in your own file or agency.yaml")
}

func systemName(goos string) string {
	if goos == "darwin" {
		return "macOS"
	}
	return goos
}

func (t *terminal) printLine(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = t.out.Write(append(tui.JSON(b), '\n'))
	return err
}
