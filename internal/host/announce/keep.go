package announce

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/host"
	"agency/internal/notify"
	"agency/internal/registry"
	"agency/internal/store"
)

// markEvery is after how many events that nobody is told of the mark is stored: a new host
// reads them once more.
const markEvery = 256

// readCopy is the configuration of a run of which is told.
func readCopy(q store.Querier, run agency.RunID) (config.Config, error) {
	r, err := registry.Run(q, run)
	if err != nil || r.Dry {
		return config.Config{}, err
	}
	c, err := host.ReadRunConfig(q, run)
	return c.Config, err
}

// channelOf is a place of a run with the secrets that a client brought; missing names what
// nobody has brought.
func (a *Announcer) channelOf(run agency.RunID, i int, n config.Notify) (c notify.Channel, missing string) {
	if n.Type == notify.Command {
		return notify.Channel{Type: n.Type, Command: string(n.URL)}, ""
	}
	c = notify.Channel{Type: n.Type, To: n.To, From: n.From, Insecure: n.Insecure}
	for _, s := range []struct {
		field string
		want  config.Secret
		to    *string
	}{{"url", n.URL, &c.URL}, {"secret", n.Secret, &c.Secret}} {
		if s.want == "" {
			continue
		}
		value, ok := a.o.Secrets.Key(run, config.NotifyKey(i, s.field))
		if !ok && missing == "" {
			missing = s.field
			if name := s.want.Env(); name != "" {
				missing += ", as " + name + " in the environment,"
			}
		}
		*s.to = value
	}
	return c, missing
}

// declared names a place by its words in the configuration, which hold no secret.
func declared(i int, n config.Notify) string {
	b, _ := json.Marshal(n) // texts and lists of texts cannot fail
	return fmt.Sprintf("%d %s", i, b)
}

// channel finds the channel of an item and its line. Where nobody has brought the keys of
// its run to this host, those of the same place of a later run serve: the run may have ended
// long ago. Without any it is held, which is said once.
func (a *Announcer) channel(ctx context.Context, it *item) (key string, ok bool) {
	words := declared(it.at.place, it.place)
	c, missing := a.channelOf(it.ev.RunID, it.at.place, it.place)
	if missing != "" {
		if c, ok = a.recent[words]; !ok {
			c, ok = a.borrowed(it)
		}
		if !ok {
			a.hold(ctx, it, missing)
			return "", false
		}
	}
	b, _ := json.Marshal(c) // as above
	key = string(b)
	a.recent[words], a.recent[key] = c, c
	if a.places[key] == nil {
		a.places[key] = &line{}
	}
	return key, true
}

// borrowed is the place of another run, written alike.
func (a *Announcer) borrowed(it *item) (notify.Channel, bool) {
	for _, run := range a.o.Secrets.Runs() {
		if c, missing := a.channelOf(run, it.at.place, it.place); missing == "" {
			other, err := store.Get(context.Background(), a.o.DB, readCopy, run)
			if err == nil && it.at.place < len(other.Notify) && declared(it.at.place, other.Notify[it.at.place]) == declared(it.at.place, it.place) {
				return c, true
			}
		}
	}
	return notify.Channel{}, false
}

// hold says once that an item waits for keys.
func (a *Announcer) hold(ctx context.Context, it *item, missing string) {
	if _, said := a.said[it.at]; said {
		return
	}
	text := fmt.Sprintf("%s has not been told: its %s is not known to this host; it is sent with the next agency resume, approve or run", label(it.at.place, it.place), missing)
	err := a.o.DB.WriteFenced(ctx, a.o.Fence, func(tx *store.Tx) error {
		if _, err := event.Append(tx, agency.NewEvent(it.ev.RunID, agency.SeverityWarning, text, agency.Log{})); err != nil {
			return err
		}
		return put(tx, it.ev.RunID, it.at, standing{held, ""})
	})
	if err == nil {
		a.said[it.at] = standing{held, ""}
	} else if ctx.Err() == nil {
		a.o.Log.Error("announcements", "error", err)
	}
}

// label names a place without its address.
func label(i int, n config.Notify) string {
	if n.Type == notify.Command {
		return "hooks." + n.Events[0]
	}
	return fmt.Sprintf("notify[%d] (%s)", i, n.Type)
}

// outlet is where a run's events go.
type outlet struct{ config.Notify }

// finished is the class of ends that a hook is run for, interrupted runs not among them.
const finished = "finished"

// places are those of a configuration, the user's own commands last.
func places(c config.Config) (out []outlet) {
	for _, n := range c.Notify {
		out = append(out, outlet{n})
	}
	for _, h := range []struct{ event, command string }{{classGate, c.Hooks.Gate}, {finished, c.Hooks.Finished}} {
		if h.command != "" {
			out = append(out, outlet{config.Notify{Type: notify.Command, URL: config.Secret(h.command), Events: []string{h.event}}})
		}
	}
	return out
}

// hook tells whether it is a command.
func (p outlet) hook() bool { return p.Type == notify.Command }

// wants tells whether an event goes there.
func (p outlet) wants(ev agency.Event, class string) bool {
	if p.hook() && p.Events[0] == finished {
		return ev.Type != "state_changed" && class != classGate
	}
	return len(p.Events) == 0 || slices.Contains(p.Events, class)
}

// note records where items stand.
func (a *Announcer) note(ctx context.Context, items []*item, s standing) error {
	err := a.o.DB.WriteFenced(ctx, a.o.Fence, func(tx *store.Tx) error {
		for _, it := range items {
			if err := put(tx, it.ev.RunID, it.at, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		for _, it := range items {
			it.message, a.said[it.at] = s.message, s
		}
	}
	return err
}

// failedToRead has a line try again later: the store refuses for now.
func (a *Announcer) failedToRead(ctx context.Context, l *line, err error) {
	if ctx.Err() != nil {
		return
	}
	a.o.Log.Error("announcements", "error", err)
	l.next = a.o.Clock.Now().Add(lastPause)
}

// drop settles what is no news any more.
func (a *Announcer) drop(ctx context.Context, items []*item) { a.finish(ctx, items, nil) }

// finish records that items are told, or given up because of an error, and lets go of them.
func (a *Announcer) finish(ctx context.Context, items []*item, cause error) {
	a.settled(context.WithoutCancel(ctx), items, cause)
	for _, it := range items {
		a.said[it.at] = standing{state: done}
	}
	a.items = slices.DeleteFunc(a.items, func(it *item) bool { return slices.Contains(items, it) })
}

// settled writes what finish records. What cannot be written, a next host tells once more.
func (a *Announcer) settled(ctx context.Context, items []*item, cause error) {
	err := a.o.DB.WriteFenced(store.Needed(ctx), a.o.Fence, func(tx *store.Tx) error {
		said := map[string]bool{}
		for _, it := range items {
			if err := put(tx, it.ev.RunID, it.at, standing{done, it.message}); err != nil {
				return err
			}
			text := ""
			if cause != nil {
				text = fared(it, cause)
			}
			if once := string(it.ev.RunID) + text; text != "" && !said[once] {
				said[once] = true
				if _, err := event.Append(tx, agency.NewEvent(it.ev.RunID, agency.SeverityWarning, text, agency.Log{})); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		a.o.Log.Error("announcements", "error", err)
	}
}

// fared says how a place fared that could not be told.
func fared(it *item, cause error) string {
	name := label(it.at.place, it.place)
	if it.place.Type == notify.Command {
		return name + " failed: " + mendable(cause)
	}
	return name + " was not told: " + giveUp(cause)
}

func giveUp(cause error) string { return mendable(cause) + "; try it with: agency notify test" }

// mendable is an error with what mends it.
func mendable(cause error) string {
	if mend := agency.MendOf(cause); mend != "" {
		return cause.Error() + "; " + mend
	}
	return cause.Error()
}

// settle moves the mark behind all that is settled.
func (a *Announcer) settle(ctx context.Context) {
	to := a.seen
	for _, it := range a.items {
		to = min(to, it.at.event-1)
	}
	below := false
	for p := range a.said {
		below = below || p.event <= to
	}
	if to <= a.mark || !below && to-a.mark < markEvery {
		return
	}
	if err := a.o.DB.WriteFenced(ctx, a.o.Fence, func(tx *store.Tx) error { return move(tx, to) }); err != nil {
		return // the next one does
	}
	a.mark = to
	for p := range a.said {
		if p.event <= to {
			delete(a.said, p)
		}
	}
}

// Reach tells which of a run's places cannot be reached now, a line for people each. It
// takes no longer than one look at one place.
func (a *Announcer) Reach(ctx context.Context, run agency.RunID, c config.Config) []string {
	lines := make([]string, len(c.Notify))
	var looks sync.WaitGroup
	look := func(i int, n config.Notify) {
		channel, missing := a.channelOf(run, i, n)
		if missing != "" {
			lines[i] = fmt.Sprintf("%s gets no announcement: its %s is not known here", label(i, n), missing)
			return
		}
		if err := a.o.Sender.Reach(ctx, channel); err != nil {
			lines[i] = fmt.Sprintf("%s cannot be reached now: %s", label(i, n), giveUp(err))
		}
	}
	for i, n := range c.Notify {
		looks.Go(func() { look(i, n) })
	}
	looks.Wait()
	return slices.DeleteFunc(lines, func(s string) bool { return strings.TrimSpace(s) == "" })
}
