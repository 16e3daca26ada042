package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"agency/internal/agency"
)

// TrustStore remembers what the user accepted: of a repository the hash of what it asks
// for, and of that with its agent files, in a file of the state folder that only the user can read.
type TrustStore struct {
	path string
	now  func() time.Time
}

// Trust is one acceptance.
type Trust struct {
	Repo string      `json:"repo"` // the repository's id
	Hash agency.Hash `json:"hash"`
	Time time.Time   `json:"time"`
	// Asked is what was asked for then, by key: what of it is another now is told.
	Asked map[string]agency.Hash `json:"asked,omitempty"`
}

type trustFile struct {
	Version int     `json:"version"`
	Trusted []Trust `json:"trusted"`
}

// NewTrustStore keeps its file in stateDir, which must exist before Accept.
func NewTrustStore(stateDir string, now func() time.Time) *TrustStore {
	return &TrustStore{path: filepath.Join(stateDir, "trust.json"), now: now}
}

// Trusted tells whether the user accepted this hash for this repository. The
// empty hash is always trusted: it stands for nothing wanted.
func (t *TrustStore) Trusted(repo string, hash agency.Hash) (bool, error) {
	if hash == "" {
		return true, nil
	}
	f, err := t.read()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(f.Trusted, func(e Trust) bool { return e.Repo == repo && e.Hash == hash }), nil
}

// Accept trusts these hashes for this repository, instead of earlier ones, of which
// all is what is asked for. It is durable when it returns.
func (t *TrustStore) Accept(repo string, all []Widening, hashes ...agency.Hash) error {
	if repo == "" {
		return agency.Errorf(agency.KindInvalid, "trust: no repository named")
	}
	asked := map[string]agency.Hash{}
	for _, w := range all {
		asked[w.Key] = w.hash()
	}
	return t.change(func(f *trustFile) {
		f.forget(repo)
		for _, hash := range slices.Compact(hashes) {
			if hash != "" {
				f.Trusted = append(f.Trusted, Trust{Repo: repo, Hash: hash, Time: t.now().UTC(), Asked: asked})
			}
		}
	})
}

// Since says of each wish what is new of it since the repository was trusted last: " (new)",
// " (changed)" or nothing; nothing of any where it never was.
func (t *TrustStore) Since(repo string, all []Widening) ([]string, error) {
	f, err := t.read()
	out := make([]string, len(all))
	for _, e := range f.Trusted {
		if e.Repo != repo {
			continue
		}
		for i, w := range all {
			switch was, known := e.Asked[w.Key]; {
			case !known:
				out[i] = " (new)"
			case was != w.hash():
				out[i] = " (changed)"
			default:
				out[i] = ""
			}
		}
	}
	return out, err
}

// Revoke forgets a repository; it tells whether there was something.
func (t *TrustStore) Revoke(repo string) (bool, error) {
	found := false
	err := t.change(func(f *trustFile) { found = f.forget(repo) })
	return found, err
}

func (f *trustFile) forget(repo string) bool {
	before := len(f.Trusted)
	f.Trusted = slices.DeleteFunc(f.Trusted, func(e Trust) bool { return e.Repo == repo })
	return len(f.Trusted) < before
}

func (t *TrustStore) read() (trustFile, error) {
	var f trustFile
	data, err := os.ReadFile(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, agency.Errorf(agency.KindTransient, "trust: %w", err)
	}
	if err := json.Unmarshal(data, &f); err != nil || f.Version != 1 {
		return trustFile{}, agency.Errorf(agency.KindInvalid, "trust: %s is damaged or of a newer version", t.path).
			WithMend("rm %s, then agency trust", t.path)
	}
	return f, nil
}

// change reads, edits and replaces the file under a lock, so that two
// terminals do not lose each other's answer.
func (t *TrustStore) change(edit func(*trustFile)) error {
	unlock, err := lockFile(t.path + ".lock")
	if err != nil {
		return agency.Errorf(agency.KindTransient, "trust: %w", err)
	}
	defer unlock()
	f, err := t.read()
	if err != nil {
		return err
	}
	edit(&f)
	f.Version = 1
	slices.SortFunc(f.Trusted, func(a, b Trust) int { return cmp.Compare(a.Repo, b.Repo) })
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	if err := replaceFile(t.path, append(data, '\n')); err != nil {
		return agency.Errorf(agency.KindTransient, "trust: %w", err)
	}
	return nil
}

// replaceFile writes beside and renames, so that a crash leaves the old file
// or the new one.
func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return syncDir(filepath.Dir(path))
}
