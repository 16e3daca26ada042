package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/store"
)

// Holder says who holds a host's lock, for people: the lock itself is the
// operating system's and goes with its process.
type Holder struct {
	PID     int       `json:"pid"`
	Machine string    `json:"machine"`
	Boot    string    `json:"boot,omitempty"`      // of the machine; tells machines of one name apart
	Space   string    `json:"pid_space,omitempty"` // process numbers mean something only in here
	Build   api.Build `json:"build"`
	Since   time.Time `json:"since"`
}

func self(build api.Build, now time.Time) Holder {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	return Holder{PID: os.Getpid(), Machine: name, Boot: bootID(), Space: pidSpace(), Build: build, Since: now}
}

// String names the holder as somebody here would look for it.
func (h Holder) String() string {
	if h.PID == 0 {
		return "a process that is just starting"
	}
	s := fmt.Sprintf("process %d", h.PID)
	switch here := self(api.Build{}, time.Time{}); {
	case h.Machine != here.Machine || h.Boot != here.Boot:
		s += " on the machine or container " + h.Machine
	case h.Space != here.Space:
		s += " in another container (" + h.Machine + ")"
	}
	return s
}

// Foreign tells whether the holder is where its socket cannot be reached: on
// another machine or in another container.
func (h Holder) Foreign() bool {
	here := self(api.Build{}, time.Time{})
	return h.PID != 0 && (h.Machine != here.Machine || h.Boot != here.Boot || h.Space != here.Space)
}

// Held is the error of a lock that somebody else has.
type Held struct{ By Holder }

func (e *Held) Error() string { return "the repository's host is " + e.By.String() }

// stateLock is the host's lock on its state folder.
type stateLock struct{ f *os.File }

// takeLock takes the lock or returns *Held.
func takeLock(path string, me Holder) (*stateLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, agency.Errorf(agency.KindTransient, "the host's lock: %w", err)
	}
	taken, err := tryLock(f)
	if err == nil && !taken {
		err = &Held{readHolder(f)}
	}
	if err == nil {
		err = writeHolder(f, me)
		if store.IsFull(err) {
			err = nil // the lock is the system's; its text is for people
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &stateLock{f}, nil
}

func (l *stateLock) release() error { return l.f.Close() }

func readHolder(f *os.File) Holder {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 64<<10))
	var h Holder
	if err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{} // it is being written
	}
	return h
}

func writeHolder(f *os.File, h Holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return agency.Errorf(agency.KindTransient, "the host's lock: %w", err)
	}
	if _, err := f.WriteAt(append(b, '\n'), 0); err != nil {
		return agency.Errorf(agency.KindTransient, "the host's lock: %w", err)
	}
	return nil
}

// HolderOf tells who holds a place's lock, if somebody does.
func HolderOf(p Place) (Holder, bool, error) {
	f, err := os.OpenFile(p.LockFile(), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, agency.Errorf(agency.KindTransient, "the host's lock: %w", err)
	}
	defer func() { _ = f.Close() }() // gives the lock back where it was free
	taken, err := tryLock(f)
	return readHolder(f), err == nil && !taken, err
}
