package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"agency/internal/agency"
)

// Signing is how the user signs commits, read as data. The programs are those
// of the user's own configuration: a repository's may choose a key, it may not
// name what is executed.
type Signing struct {
	Format  string `json:"format"` // openpgp, ssh or x509
	Key     string `json:"key,omitempty"`
	Program string `json:"program,omitempty"`
	// KeyCommand names the key where none is configured (ssh only).
	KeyCommand string `json:"key_command,omitempty"`
}

// String says with what is signed, for people.
func (s Signing) String() string {
	key := s.Key
	if len(key) > 60 {
		key = key[:57] + "..."
	}
	if key == "" {
		return s.Format + ", the key of your identity"
	}
	return s.Format + ", " + key
}

// Signing reads how the user signs commits in this repository; nil where not.
func (h *Host) Signing(ctx context.Context, loc Location) (*Signing, error) {
	cfg, err := h.ReadConfig(ctx, loc)
	if err != nil || !truth(cfg.Get("commit.gpgsign")) {
		return nil, err
	}
	own, err := h.readConfig(ctx, loc, "system", "global")
	if err != nil {
		return nil, err
	}
	s := &Signing{Format: strings.ToLower(cfg.Get("gpg.format")), Key: cfg.Get("user.signingkey")}
	switch s.Format {
	case "":
		s.Format = "openpgp"
	case "openpgp", "ssh", "x509":
	default:
		return nil, agency.Errorf(agency.KindInvalid, "gpg.format is %q in the git configuration of %s", s.Format, loc.WorkTree).
			WithMend("git config --global gpg.format openpgp (or ssh, x509)")
	}
	s.Program = own.Get("gpg." + s.Format + ".program")
	if s.Program == "" && s.Format == "openpgp" {
		s.Program = own.Get("gpg.program")
	}
	s.Program = expandHome(s.Program, h.opts.Getenv("HOME"))
	if s.Format == "ssh" {
		s.KeyCommand = own.Get("gpg.ssh.defaultkeycommand")
	}
	return s, nil
}

// Unsigned is a commit that was not made because it could not be signed.
type Unsigned struct {
	By  Signing
	Err error
}

func (u *Unsigned) Error() string {
	with := u.By.String()
	if u.By.Program != "" {
		with += ", by " + u.By.Program
	}
	return fmt.Sprintf("the commit cannot be signed (%s): %s", with, lastLines(u.Err.Error(), 3))
}

func (u *Unsigned) Unwrap() error { return u.Err }

// signTimeout bounds how long a signer may ask its person for a passphrase.
const signTimeout = 2 * time.Minute

// SignCommit is CommitTree with a signature of the user's own signer, which
// runs outside of any sandbox with the user's environment. Where it fails there
// is no commit and the error is *Unsigned.
func (d Dir) SignCommit(ctx context.Context, tree agency.OID, parents []agency.OID, message string, by Identity, s Signing) (agency.OID, error) {
	config := []string{"gpg.format=" + s.Format}
	if s.Key != "" {
		config = append(config, "user.signingKey="+s.Key)
	}
	program := s.Program
	if program == "" {
		program = map[string]string{"openpgp": "gpg", "ssh": "ssh-keygen", "x509": "gpgsm"}[s.Format]
	}
	config = append(config, "gpg."+s.Format+".program="+program)
	if s.KeyCommand != "" {
		config = append(config, "gpg.ssh.defaultKeyCommand="+s.KeyCommand)
	}
	short, cancel := context.WithTimeout(ctx, signTimeout)
	defer cancel()
	id, err := d.commit(short, "-S", tree, parents, message, by, config, d.host.signerEnv())
	if err != nil && ctx.Err() == nil {
		if errors.Is(short.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", signTimeout)
		}
		return "", &Unsigned{By: s, Err: err}
	}
	return id, err
}

// signerEnv is what a signer needs of the user's environment to find its keys,
// its agent, and the person to ask.
func (h *Host) signerEnv() []string {
	var env []string
	for _, name := range []string{
		"HOME", "USER", "LOGNAME", "GNUPGHOME", "GPG_TTY", "SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY",
		"XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR",
	} {
		if v := h.opts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	if path := h.opts.Getenv("PATH"); path != "" {
		env = append(env, "PATH="+path+string(os.PathListSeparator)+"/usr/bin:/bin")
	}
	return env
}

// lastLines are the last lines of what a command said that are not empty.
func lastLines(s string, n int) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
