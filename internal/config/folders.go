package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"agency/internal/agency"
)

// RepoFile is where a repository's configuration stands, in its working tree.
const RepoFile = "agency.yaml"

// Folders are where the program keeps what.
type Folders struct {
	Home   string // the user's home folder, "" where unknown
	Config string // holds config.yaml
	State  string
	Cache  string
	Socket string
}

// FindFolders finds the folders of the XDG specification without making any.
// A relative value of a variable is ignored, as that specification asks.
func FindFolders(env Env) (Folders, error) {
	home := absoluteEnv(env, "HOME")
	if home == "" {
		home = absoluteEnv(env, "USERPROFILE")
	}
	f := Folders{Home: home}
	places := []struct {
		into               *string
		variable, fallback string
	}{
		{&f.Config, "XDG_CONFIG_HOME", ".config"},
		{&f.State, "XDG_STATE_HOME", filepath.Join(".local", "state")},
		{&f.Cache, "XDG_CACHE_HOME", ".cache"},
	}
	for _, p := range places {
		base := absoluteEnv(env, p.variable)
		if base == "" {
			if home == "" {
				return Folders{}, agency.Errorf(agency.KindInvalid, "config: neither HOME nor %s is set to an absolute path", p.variable).
					WithMend("export HOME=...")
			}
			base = filepath.Join(home, p.fallback)
		}
		*p.into = filepath.Join(base, "agency")
	}
	if base := absoluteEnv(env, "XDG_RUNTIME_DIR"); base != "" && isDir(base) {
		f.Socket = filepath.Join(base, "agency")
	} else {
		f.Socket = filepath.Join(os.TempDir(), "agency-"+strconv.Itoa(os.Getuid()))
		if filepath.Separator == '/' {
			f.Socket = "/tmp/agency-" + strconv.Itoa(os.Getuid())
		}
	}
	return f, nil
}

func absoluteEnv(env Env, name string) string {
	v, ok := env(name)
	if !ok || !filepath.IsAbs(v) {
		return ""
	}
	return filepath.Clean(v)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// ConfigFile is the user's own file.
func (f Folders) ConfigFile() string { return filepath.Join(f.Config, "config.yaml") }

// Make makes the state, cache and socket folders, 0700, and refuses a socket
// folder that another user owns or can enter: who holds it could answer in the
// host's place. Its error is KindTransient.
func (f Folders) Make() error {
	for _, dir := range []string{f.State, f.Cache} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return agency.Errorf(agency.KindTransient, "config: %w", err).
				WithMend("make the folder writable, or set XDG_STATE_HOME and XDG_CACHE_HOME to another one")
		}
	}
	err := os.Mkdir(f.Socket, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = checkOwner(f.Socket)
	}
	if err != nil {
		return agency.Errorf(agency.KindTransient, "config: socket folder: %w", err).
			WithMend("set XDG_RUNTIME_DIR to a folder of your own that only you can enter")
	}
	return nil
}

const defaultHostIdle = time.Minute

// HostIdle is AGENCY_HOST_IDLE, the time after which an idle host leaves: a
// duration such as 90s, or a number of seconds; one minute where unset.
func HostIdle(env Env) (time.Duration, error) {
	v, ok := env("AGENCY_HOST_IDLE")
	if !ok || v == "" {
		return defaultHostIdle, nil
	}
	d, err := time.ParseDuration(v)
	if n, nerr := strconv.Atoi(v); nerr == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < 0 || d > 30*24*time.Hour {
		return 0, agency.Errorf(agency.KindInvalid, "config: AGENCY_HOST_IDLE: %s is no time from 0s to 720h", fmt.Sprintf("%q", v)).
			WithMend("export AGENCY_HOST_IDLE=60s")
	}
	return d, nil
}

// TrustFromEnv tells whether AGENCY_TRUST=1 accepts a repository's
// configuration for this one command.
func TrustFromEnv(env Env) bool {
	v, _ := env("AGENCY_TRUST")
	return v == "1"
}
