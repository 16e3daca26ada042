package api

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// Token proves to a host that whoever asks can read the state folder of this
// user. It is drawn anew at each start of a host. That a process runs as the
// same user proves nothing: commands of agents do, too, and no sandbox of theirs
// shows them the state folder.
type Token string

// tokenBytes is how much chance is in a token.
const tokenBytes = 32

var tokenForm = regexp.MustCompile(fmt.Sprintf(`^[0-9a-f]{%d}$`, 2*tokenBytes))

// NewToken draws a token.
func NewToken() Token {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // it ends the program rather than to fail
	return Token(hex.EncodeToString(b))
}

// String keeps a token out of logs and errors.
func (t Token) String() string { return "(token)" }

// Write puts the token where clients of this user read it: in a file of mode
// 0600 that is there whole or not at all. It takes no room on a full disk where
// an earlier host left its file. The caller is the only host.
func (t Token) Write(path string) error {
	if err := DropToken(path); err != nil {
		return err
	}
	line := []byte(string(t) + "\n")
	f, err := openOwn(spare(path), os.O_WRONLY)
	if err != nil { // there is none, or one that is not to be used
		_ = os.Remove(spare(path)) // where it stays the next fails
		f, err = os.OpenFile(spare(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err == nil {
		_, err = f.WriteAt(line, 0)
		err = errors.Join(err, f.Truncate(int64(len(line))), f.Close())
	}
	if err == nil {
		err = os.Rename(spare(path), path)
	}
	if err != nil {
		return agency.Errorf(agency.KindTransient, "the host's token: %w", err)
	}
	return nil
}

// DropToken takes the token of a host that ends, or was killed, away from where
// clients read it. Its file is kept for the next host, whose disk may be full by
// then.
func DropToken(path string) error {
	if err := os.Rename(path, spare(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return agency.Errorf(agency.KindTransient, "the host's token: %w", err).WithMend("rm -r %s", path)
	}
	return nil
}

func spare(path string) string { return path + ".spare" }

// ReadToken reads the token of a host, "" where there is none: no host lives,
// or one that asks for none. A file that others could have written or read is
// KindDenied: what it says is not the host's, or not the host's alone.
func ReadToken(path string) (Token, error) {
	f, err := openOwn(path, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", badToken(path, err)
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(io.LimitReader(f, 2*tokenBytes+2))
	if err != nil {
		return "", agency.Errorf(agency.KindTransient, "the host's token: %w", err)
	}
	t := Token(b[:max(0, len(b)-1)])
	if !tokenForm.MatchString(string(t)) {
		return "", badToken(path, errors.New("it holds something else"))
	}
	return t, nil
}

func badToken(path string, why error) error {
	return agency.Errorf(agency.KindDenied, "the host's token %s is not to be trusted: %w", path, why).
		WithMend("rm %s, and type the same again", path)
}

// Denied is what a host answers to a request without its token. The error is
// KindDenied.
func Denied(pid int) error {
	return agency.Errorf(agency.KindDenied, "the request does not carry the token of this host's start: only who can read the state folder of its user may ask").
		WithMend("run agency as that user, with the same XDG_STATE_HOME; where the file host.token was removed, end the host (kill %d) and type the same again", pid)
}
