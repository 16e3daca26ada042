// Package notify carries a message to one place outside: a webhook, Slack, a mail server, the
// desktop, or any service of the library shoutrrr. It knows nothing of runs, of when something
// is told or of what has been told already: package announce of the host does.
//
// Nothing that it returns holds a piece of a channel's address: addresses hold keys, and the
// errors of HTTP, of the resolver and of the library quote them. So an error is made of a
// fixed set of words.
package notify

import (
	"context"
	"time"

	"agency/internal/agency"
)

// Timeout bounds one message, ReachTimeout one look whether a channel can be reached.
const (
	Timeout      = 10 * time.Second
	ReachTimeout = 3 * time.Second
)

// Bounds of what is sent and read. Both are far above what a message holds.
const (
	maxBody   = 32 << 10
	maxAnswer = 16 << 10
)

// The types of channels.
const (
	Webhook  = "webhook"
	Slack    = "slack"
	Email    = "email"
	Desktop  = "desktop"
	Shoutrrr = "shoutrrr"
	Command  = "command" // of the user's own, on this machine
)

// Channel is one place, with its secrets.
type Channel struct {
	Type     string   `json:"type"`
	URL      string   `json:"url,omitempty"`
	Secret   string   `json:"secret,omitempty"` // signs what a webhook gets
	To       []string `json:"to,omitempty"`
	From     string   `json:"from,omitempty"`
	Insecure bool     `json:"insecure,omitempty"` // unencrypted to other machines, too
	Command  string   `json:"command,omitempty"`  // a text for sh
}

// Message is what a person is told. All of it is plain text.
type Message struct {
	// Key is the same whenever the same is sent again.
	Key string `json:"key"`
	// Event is gate, failure or end, several for what quiet hours held, or test.
	Event string    `json:"event"`
	At    time.Time `json:"at"`
	// Repo is the name of the repository's folder, Runs are those that it is about.
	Repo string         `json:"repository,omitempty"`
	Runs []agency.RunID `json:"runs,omitempty"`
	// Title is one line, Lines are few.
	Title string   `json:"title"`
	Lines []string `json:"lines"`
	// About is what a command is told.
	About About `json:"-"`
}

// About is one event for a program.
type About struct {
	Event      string       `json:"event"` // gate or finished
	Run        agency.RunID `json:"run"`
	Number     int          `json:"number"`
	State      string       `json:"state"`
	Repository string       `json:"repository"` // the folder
	Gate       string       `json:"gate,omitempty"`
	Summary    string       `json:"summary"`
	Key        string       `json:"key"` // as of the message
}

// Sender sends over the real channels. Its zero value does.
type Sender struct {
	// Now is the time that a webhook's message is signed with and a mail is dated by;
	// nil: the machine's.
	Now func() time.Time
	// Patience is how long a command may take; 0: 30 s.
	Patience time.Duration
	// Self is this program, which is started once more for shoutrrr, and must call Child;
	// empty: as the system knows it.
	Self string
}

func (s Sender) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// Send sends a message and returns when the other side has taken it. Its error is
// KindTransient where the same may succeed later, KindInvalid where something must be mended
// first, and holds nothing of the channel's address.
func (s Sender) Send(ctx context.Context, c Channel, m Message) error {
	if c.Type == Command {
		return s.command(ctx, c.Command, m.About)
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	switch c.Type {
	case Webhook:
		return s.webhook(ctx, c, m)
	case Slack:
		return slack(ctx, c, m)
	case Email:
		return s.email(ctx, c, m)
	case Desktop:
		return desktop(ctx, m)
	case Shoutrrr:
		return s.shout(ctx, order{Channel: c, Message: m})
	}
	return agency.Errorf(agency.KindInvalid, "there is no such type of channel").WithMend("agency config validate")
}

// Reach tells whether a channel answers, without sending anything.
func (s Sender) Reach(ctx context.Context, c Channel) error {
	ctx, cancel := context.WithTimeout(ctx, ReachTimeout)
	defer cancel()
	switch c.Type {
	case Webhook, Slack:
		return reachHTTP(ctx, c)
	case Email:
		conn, err := dialMail(ctx, c)
		if err != nil {
			return err
		}
		_ = conn.Close()
		return nil
	case Desktop:
		_, err := desktopProgram()
		return err
	case Shoutrrr: // only the library knows where its addresses lead
		return s.shout(ctx, order{Channel: c, Message: Message{Title: "agency", Lines: []string{"looks"}}, Look: true})
	}
	return nil
}
