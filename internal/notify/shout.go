package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"agency/internal/agency"
)

// The library's services send by the process's one HTTP client, some without a limit of time,
// follow redirects anywhere and read what comes. A process of its own, which is this program
// once more, holds them to what holds for all channels, and ends with the message.

// childName is the first argument of that process.
const childName = "agency-notify"

// order is what the process reads; it answers with the kind of the error and its words.
type order struct {
	Channel Channel `json:"channel"`
	Message Message `json:"message"`
	Look    bool    `json:"look,omitempty"` // nothing is sent: see whether the service can be reached
}

type outcome struct {
	Kind string `json:"kind,omitempty"` // empty: it was sent
	Text string `json:"text,omitempty"`
	Mend string `json:"mend,omitempty"`
}

// shout sends over a service of shoutrrr, or sees whether it can be reached.
func (s Sender) shout(ctx context.Context, what order) error {
	if err := service(what.Channel); err != nil {
		return err
	}
	spec, err := json.Marshal(what)
	if err != nil {
		return err
	}
	path := s.Self
	if path == "" {
		if path, err = os.Executable(); err != nil {
			return agency.Errorf(agency.KindTransient, "this program is not found any more").WithMend("agency version")
		}
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Stdin, cmd.Stdout = []string{childName}, bytes.NewReader(spec), &out
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return reason(ctx.Err())
	}
	var o outcome
	if err != nil || json.Unmarshal(out.Bytes(), &o) != nil {
		return agency.Errorf(agency.KindTransient, "the service could not be spoken to").WithMend("see whether the url is one of shoutrrr")
	}
	if o.Kind == "" {
		return nil
	}
	return agency.Errorf(agency.ParseKind(o.Kind), "%s", o.Text).WithMend("%s", o.Mend)
}

// Child never returns in a process that was started to send over shoutrrr; in any other it
// does nothing. It stands in main.
func Child() {
	if len(os.Args) == 0 || os.Args[0] != childName {
		return
	}
	var o order
	var done outcome
	if err := json.NewDecoder(io.LimitReader(os.Stdin, 1<<20)).Decode(&o); err != nil {
		os.Exit(1)
	}
	f := &fence{insecure: o.Channel.Insecure, look: o.Look}
	http.DefaultTransport = fenced{f, http.DefaultTransport}
	if err := shoutHere(f, o.Channel, o.Message); err != nil {
		done = outcome{Kind: agency.KindOf(err).String(), Text: err.Error(), Mend: agency.MendOf(err)}
	}
	if json.NewEncoder(os.Stdout).Encode(done) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// service refuses addresses of what has a type of its own here, and of what sends nowhere.
func service(c Channel) error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme == "" {
		return refused("its url is no address of shoutrrr").WithMend("write one such as ntfy://ntfy.sh/TOPIC or discord://TOKEN@ID")
	}
	switch name, _, _ := strings.Cut(u.Scheme, "+"); name {
	case "smtp":
		return refused("mail has a type of its own").WithMend("write type: email")
	case "logger":
		return refused("the service logger sends nowhere").WithMend("take it out of notify")
	}
	for key, values := range u.Query() {
		key = strings.ToLower(key)
		if !c.Insecure && (strings.HasPrefix(key, "disabletls") || strings.Contains(key, "skip")) && !strings.EqualFold(strings.Join(values, ""), "no") && !loopback(u.Hostname()) {
			return refused("its url turns the check of certificates off").WithMend("take that out of the url, or write insecure: true")
		}
	}
	return nil
}

// shoutHere sends in this process. What the library says of a failure quotes addresses, and
// of some failures it says nothing, so what came of it is what went over the fence.
func shoutHere(f *fence, c Channel, m Message) error {
	r := router.ServiceRouter{Timeout: Timeout}
	s, err := r.Locate(c.URL)
	if errors.Is(err, router.ErrUnknownService) {
		return refused("shoutrrr has no such service").WithMend("see the services of shoutrrr for the form of the url")
	}
	if err != nil {
		return refused("its url is not of the form that the service wants").WithMend("see the services of shoutrrr for the form of the url")
	}
	f.around(s)
	params := types.Params{}
	params.SetTitle(m.Title)
	err = s.Send(strings.Join(m.Lines, "\n"), &params)
	switch {
	case f.look && (f.err == nil || errors.Is(f.err, errLooked)): // or it speaks something else than HTTP, and nothing is known
		return nil
	case f.err != nil:
		return reason(f.err)
	case f.code != 0 && status(f.code) != nil:
		return status(f.code)
	case err == nil:
		return nil
	}
	return agency.Errorf(agency.KindTransient, "the service refused the message").WithMend("see whether the url is right: agency notify test")
}

// fence holds requests to the host that they are for, to encryption and to bounds, and
// remembers what came of the last one.
type fence struct {
	insecure bool
	look     bool // requests go nowhere: their hosts are looked for
	code     int
	err      error
}

// errLooked is a request that was not sent, whose host answers.
var errLooked = errors.New("looked for")

// around has a service that brings an HTTP client of its own send over the fence, too.
func (f *fence) around(s types.Service) {
	switch s := s.(type) {
	case interface{ GetHTTPClient() *http.Client }:
		if c := s.GetHTTPClient(); c != nil && c.Transport != nil {
			c.Transport = fenced{f, c.Transport}
		}
	case interface{ SetHTTPClient(*http.Client) }:
		s.SetHTTPClient(&http.Client{Timeout: Timeout}) // of the default transport, which is fenced
	}
}

// fenced is a transport behind a fence.
type fenced struct {
	*fence
	next http.RoundTripper
}

func (f fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	f.err = f.allowed(r)
	if f.err != nil {
		return nil, f.err
	}
	ctx, cancel := context.WithTimeout(r.Context(), Timeout)
	res, err := f.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		f.err = err
		return nil, err
	}
	f.code = res.StatusCode
	if to, err := res.Location(); err == nil && res.StatusCode/100 == 3 && to.Host != r.URL.Host {
		cancel()
		_ = res.Body.Close()
		f.err = errElsewhere
		return nil, f.err
	}
	res.Body = bounded{io.LimitReader(res.Body, maxAnswer), res.Body, cancel}
	return res, nil
}

// allowed tells why a request is not sent.
func (f *fence) allowed(r *http.Request) error {
	if r.URL.Scheme != "https" && !f.insecure && !loopback(r.URL.Hostname()) {
		return errPlain
	}
	if !f.look {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), ReachTimeout)
	defer cancel()
	if err := reachURL(ctx, r.URL); err != nil {
		return err
	}
	return errLooked
}

type bounded struct {
	io.Reader
	body   io.Closer
	cancel context.CancelFunc
}

func (b bounded) Close() error {
	b.cancel()
	return b.body.Close()
}
