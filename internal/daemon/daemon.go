package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/host/settings"
	"agency/internal/serve"
)

// Options say which host to start.
type Options struct {
	Place Place         `json:"place"`
	Build api.Build     `json:"build"`
	Idle  time.Duration `json:"idle"` // after which a host with nothing to do leaves; 0: never
	// Log takes what nobody asked for; nil discards it.
	Log *slog.Logger `json:"-"`
	// Getenv is the host's environment; nil: os.LookupEnv. Keys never come
	// from here.
	Getenv func(string) (string, bool) `json:"-"`
	// Settings judges what runs may be started with; nil: the files of the user
	// and the repository do.
	Settings host.Settings `json:"-"`
	// Now is the wall clock, After times people's deadlines; nil: the real ones.
	Now   func() time.Time                               `json:"-"`
	After func(time.Duration, func()) (stop func() bool) `json:"-"`
}

// Daemon is a running host with its socket.
type Daemon struct {
	o      Options
	parts  *parts
	lock   *stateLock
	listen net.Listener
	stop   context.CancelFunc // of the socket
	served chan error
	idle   *idle
	once   sync.Once
	done   chan struct{}
	err    error
}

// Start takes the repository's lock, opens its store, recovers what an earlier
// host left, and serves. *Held: somebody else is its host.
func Start(ctx context.Context, o Options) (*Daemon, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Settings == nil {
		o.Settings = settings.Guard{Files: settings.Files{User: o.Place.Config, State: o.Place.Root}, Repo: o.Place.Repo, ID: o.Place.ID, Now: o.Now}
	}
	l, err := takeLock(o.Place.LockFile(), self(o.Build, o.Now()))
	if err != nil {
		return nil, err
	}
	d := &Daemon{o: o, lock: l, served: make(chan error, 1), done: make(chan struct{})}
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, l.release())
	}
	return d, nil
}

// StartFor starts a host in this process for the runs of one configuration alone,
// in the repository that holds a folder. It fills in what of o follows from these.
func StartFor(ctx context.Context, dir string, f config.Folders, c config.Config, o Options) (*Daemon, error) {
	repo, err := git.Find(dir)
	if err != nil {
		return nil, err
	}
	if o.Place, err = Claim(repo, f); err != nil {
		return nil, err
	}
	o.Settings = settings.Only(c)
	return Start(ctx, o)
}

func (d *Daemon) open(ctx context.Context) error {
	err := sweep(d.o.Place)
	if err != nil { // a leftover is no reason to refuse all work
		d.o.Log.Error("leftovers", "error", err)
	}
	if d.parts, err = assemble(ctx, d.o); err != nil {
		return err
	}
	d.idle = newIdle(d.o.Idle, func() int { return d.parts.live.AtWork() + d.parts.tells.AtWork() })
	d.parts.live.OnChange(d.idle.update)
	d.parts.tells.OnChange(d.idle.update)
	token := api.NewToken()
	if err = d.parts.host.Open(ctx); err == nil {
		err = token.Write(d.o.Place.TokenFile()) // before anybody can ask
	}
	if err == nil {
		d.listen, err = serve.Listen(d.o.Place.Socket)
	}
	if err != nil {
		d.parts.host.Close()
		return errors.Join(err, api.DropToken(d.o.Place.TokenFile()), d.parts.close())
	}
	serving, stop := context.WithCancel(context.Background())
	d.stop = stop
	s := serve.New(serve.Options{
		View: d.parts.view, Copy: d.parts.host, Work: d.parts.host, Steer: d.parts.host, Keep: d.parts.host, Lifecycle: (*lifecycle)(d), Log: d.o.Log, Token: token,
		Connections: d.idle.connections,
	})
	go func() { d.served <- s.Serve(serving, d.listen) }()
	go d.await()
	d.idle.update()
	return nil
}

// await ends the host when it has nothing to do any more, or its socket fails.
func (d *Daemon) await() {
	select {
	case <-d.idle.over:
		d.o.Log.Info("nothing to do; leaving")
	case err := <-d.served:
		d.served <- err
	}
	d.Close()
}

// Err is why the host ended, once it has; nil where it was asked to or had
// nothing to do.
func (d *Daemon) Err() error {
	<-d.done
	return d.err
}

// Dial makes a client for the host; see api.Dial.
func (d *Daemon) Dial() *api.Client { return d.o.Place.Dial() }

// Redact takes every key that clients brought out of a text.
func (d *Daemon) Redact(b []byte) []byte { return d.parts.secrets.Redact(b) }

// Close stops every run where it stands, then the socket, then the store, and
// gives the lock back last, so that a successor finds everything in order.
func (d *Daemon) Close() {
	d.once.Do(func() {
		d.idle.close()
		d.parts.host.Close()
		d.stop()
		serr := <-d.served
		_ = os.Remove(d.o.Place.Socket)          // gone with the listener as a rule
		_ = api.DropToken(d.o.Place.TokenFile()) // where it stays it opens nothing any more
		d.err = errors.Join(serr, d.parts.close(), d.lock.release())
		close(d.done)
	})
	<-d.done
}

// lifecycle is what serve asks of the daemon itself.
type lifecycle Daemon

func (l *lifecycle) Hello() api.Hello {
	return api.Hello{Wire: api.Wire, Build: l.o.Build, PID: os.Getpid(), Repo: l.o.Place.ID, CommonDir: l.o.Place.Repo.CommonDir}
}

// Drain answers when all runs stand still; the host ends after the answer.
func (l *lifecycle) Drain(ctx context.Context) (api.DrainDoc, error) {
	doc, err := l.parts.host.Drain(ctx)
	if err != nil {
		return doc, agency.Errorf(agency.KindTransient, "the hand-over was stopped: %w", err)
	}
	l.idle.leave()
	return doc, nil
}

func (l *lifecycle) Hide(texts []string) { l.parts.secrets.Hide(texts) }

func (l *lifecycle) Begin() (end func()) { return l.idle.begin() }
