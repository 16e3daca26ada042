package preview

import (
	"context"
	"path/filepath"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/host/announce"
	"agency/internal/notify"
)

// Announced is how a test message fared at each place that a run would announce to.
type Announced struct {
	Places []announce.Tried `json:"places"`
}

// Failed tells whether one did not get it.
func (a Announced) Failed() bool {
	for _, p := range a.Places {
		if !p.OK {
			return true
		}
	}
	return false
}

// TryPlaces sends a test message to every place that a run would announce to, with the
// configuration and the keys that a run would be started with.
func (r *Repo) TryPlaces(ctx context.Context, l *config.Loaded) (Announced, error) {
	if err := r.RequireTrust(l); err != nil {
		return Announced{}, err
	}
	if len(l.Config.Notify) == 0 {
		return Announced{}, agency.Errorf(agency.KindInvalid, "no place to announce to is configured").WithMend("add it to your own file or to agency.yaml, then try it with agency notify test")
	}
	secrets, err := l.Secrets(nil)
	if err != nil {
		return Announced{}, err
	}
	name := "agency"
	if r.At.WorkTree != "" {
		name = filepath.Base(r.At.WorkTree)
	}
	return Announced{Places: announce.Try(ctx, notify.Sender{Now: r.Now}, name, l.Config, secrets, r.Now())}, nil
}
