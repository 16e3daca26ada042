package announce

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/host"
	"agency/internal/notify"
)

// Tried is how a test message fared at one place.
type Tried struct {
	Place string `json:"place"` // notify[0]
	Type  string `json:"type"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	Mend  string `json:"mend,omitempty"`
}

// Try sends a test message to every place of a configuration, beside each other, with the
// secrets that a client would bring. Quiet hours do not hold it: who asks for it is awake.
func Try(ctx context.Context, s Sender, repo string, c config.Config, secrets map[string]string, now time.Time) []Tried {
	const run agency.RunID = "test"
	keys := host.NewSecrets()
	keys.Put(run, secrets)
	a := New(Options{Secrets: keys, Sender: s})
	out := make([]Tried, len(c.Notify))
	var sends sync.WaitGroup
	for i, n := range c.Notify {
		sends.Go(func() {
			out[i] = Tried{Place: fmt.Sprintf("notify[%d]", i), Type: n.Type}
			channel, missing := a.channelOf(run, i, n)
			err := error(nil)
			if missing != "" {
				err = unset(n)
			} else {
				err = s.Send(ctx, channel, testMessage(repo, i, now))
			}
			if out[i].OK = err == nil; err != nil {
				out[i].Error, out[i].Mend = err.Error(), agency.MendOf(err)
			}
		})
	}
	sends.Wait()
	return out
}

// unset names what the environment lacks.
func unset(n config.Notify) error {
	for _, s := range []config.Secret{n.URL, n.Secret} {
		if name := s.Env(); name != "" {
			return agency.Errorf(agency.KindInvalid, "%s is not set", name).WithMend("export %s=...", name)
		}
	}
	return agency.Errorf(agency.KindInvalid, "a ${NAME} in it is not set").WithMend("agency config show")
}

func testMessage(repo string, place int, now time.Time) notify.Message {
	return notify.Message{
		Key: "test." + strconv.FormatInt(now.UnixNano(), 36) + "." + strconv.Itoa(place), Event: "test", At: now.UTC(), Repo: repo,
		Title: plain(repo+": a test of agency's announcements", titleLength),
		Lines: []string{"This place gets what its events in agency.yaml say: a gate that waits, a failure, an end.", "Nothing needs to be done."},
	}
}
