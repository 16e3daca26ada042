package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"agency/internal/agency"
)

// hardening is given to every command (RELIABILITY 2). An empty value after
// "=" unsets what a repository's own configuration may have set.
var hardening = [...]string{
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.attributesFile=/dev/null",
	"core.pager=cat",
	"core.editor=false",
	"core.askPass=",
	"core.sshCommand=false",
	"core.alternateRefsCommand=",
	"core.safecrlf=false",
	"core.quotePath=false",
	"core.useReplaceRefs=false",
	"safe.bareRepository=explicit",
	"protocol.allow=never",
	"protocol.ext.allow=never",
	"submodule.recurse=false",
	"diff.ignoreSubmodules=all",
	"diff.external=",
	"credential.helper=",
	"gc.auto=0",
	"maintenance.auto=false",
	"core.bigFileThreshold=32m", // larger files are streamed, and differ without showing how
	"commit.gpgSign=false",
	"gpg.program=false",
	"log.showSignature=false",
	"advice.addEmbeddedRepo=false",
}

// command is one invocation of git.
type command struct {
	args   []string // after the global options
	dir    *Dir     // nil with bare
	bare   bool     // no repository: `git version`
	env    []string // further variables
	config []string // further key=value
	stdin  io.Reader
	stdout io.Writer // takes the output at its own pace; nil: collected and returned, up to most
	most   int64     // bytes that are collected; 0: OutputCap
	user   bool      // read the user's own global configuration as data
}

// Failure is a git command that ended with a status other than zero.
type Failure struct {
	Verb   string // the git command, such as "update-ref"
	Status int    // -1: killed
	Stderr string // the end of what it said
}

func (f *Failure) Error() string {
	msg := strings.TrimSpace(f.Stderr)
	if msg == "" {
		msg = fmt.Sprintf("status %d", f.Status)
	}
	return "git " + f.Verb + ": " + msg
}

const (
	stderrCap = 64 << 10
	killDelay = 2 * time.Second
)

// run starts git, waits for it and gives its standard output. The process
// group dies with ctx, and git dies with this process.
func (h *Host) run(ctx context.Context, c command) ([]byte, error) {
	if c.dir != nil {
		living := c.dir.living()
		c.dir = &living
	}
	ctx, cancel := context.WithTimeout(ctx, h.opts.Timeout)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if c.dir != nil && c.dir.WorkTree != "" {
		defer watchPipes(ctx, c.dir.WorkTree, end)()
	}
	cmd := exec.CommandContext(ctx, h.binary, h.argv(c)...)
	cmd.Env = h.env(c)
	cmd.Dir = "/"
	if c.dir != nil {
		cmd.Dir = c.dir.workingDir()
	}
	cmd.Stdin = c.stdin
	out := &capped{max: c.most}
	if out.max == 0 {
		out.max = h.opts.OutputCap
	}
	cmd.Stdout = out
	stderr := &tail{max: stderrCap}
	cmd.Stderr = stderr
	cmd.WaitDelay = killDelay
	isolate(cmd)

	// The kernel's death signal belongs to the thread that forked: the thread
	// must not end before the child does.
	runtime.LockOSThread()
	err := runInto(ctx, cmd, c.stdout)
	runtime.UnlockOSThread()
	if out.over {
		return out.buf.Bytes(), agency.Errorf(agency.KindExhausted, "git %s wrote more than %d bytes: %w", c.args[0], out.max, errOver)
	}
	if err != nil {
		return out.buf.Bytes(), h.explain(ctx, c.dir, c.args[0], err, stderr.String())
	}
	return out.buf.Bytes(), nil
}

// runInto runs a command whose output goes to w, where there is one, at the
// pace of w: that the command has ended says nothing of how long w takes for
// what is still on its way. Only when ctx has ended does w get killDelay.
func runInto(ctx context.Context, cmd *exec.Cmd, w io.Writer) error {
	if w == nil {
		return cmd.Run()
	}
	if f, ok := w.(*os.File); ok {
		cmd.Stdout = f // the kernel carries it
		return cmd.Run()
	}
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(w, from)
		_ = from.Close() // a command that still writes is ended by it
		copied <- err
	}()
	cmd.Stdout = to
	err = cmd.Run()
	_ = to.Close() // the last one, so that the copy ends
	var took error
	select {
	case took = <-copied:
	case <-ctx.Done():
		t := time.NewTimer(killDelay)
		defer t.Stop()
		select {
		case took = <-copied:
		case <-t.C:
			_ = from.Close()
			took = ctx.Err()
		}
	}
	if err == nil {
		err = took
	}
	return err
}

func (h *Host) argv(c command) []string {
	args := make([]string, 0, 2*len(hardening)+len(c.args)+8)
	args = append(args, "--no-pager", "--literal-pathspecs")
	for _, kv := range hardening {
		args = append(args, "-c", kv)
	}
	if c.dir != nil {
		if !c.dir.user {
			args = append(args, "-c", "core.attributesFile="+filepath.Join(c.dir.GitDir, globalAttributes))
		}
		for _, kv := range c.dir.config {
			args = append(args, "-c", kv)
		}
	}
	for _, kv := range c.config {
		args = append(args, "-c", kv)
	}
	return append(args, c.args...)
}

func (h *Host) env(c command) []string {
	env := []string{
		"PATH=" + filepath.Dir(h.binary) + ":/usr/bin:/bin",
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_ALLOW_PROTOCOL=",
		"GIT_ATTR_NOSYSTEM=1",
	}
	if c.user {
		env = append(env, "HOME="+h.opts.Getenv("HOME"))
		for _, k := range []string{"XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"} {
			if v := h.opts.Getenv(k); v != "" {
				env = append(env, k+"="+v)
			}
		}
	} else {
		env = append(env, "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	}
	if c.dir != nil {
		env = append(env, c.dir.env()...)
	}
	return append(env, c.env...)
}

// explain turns an exit status into an error with a kind where the cause is
// outside of the program; all else stays a *Failure for the caller to read.
func (h *Host) explain(ctx context.Context, d *Dir, verb string, err error, stderr string) error {
	if stuck := (*Stuck)(nil); errors.As(context.Cause(ctx), &stuck) {
		return stuck
	}
	if cause := ctx.Err(); cause != nil {
		return agency.Errorf(agency.KindTransient, "git %s was stopped: %w", verb, cause)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return agency.Errorf(agency.KindTransient, "starting git %s: %w", verb, err)
	}
	f := &Failure{Verb: verb, Status: exit.ExitCode(), Stderr: stderr}
	if f.fatal() && d != nil && (roomless(d.GitDir) || d.objects != "" && roomless(d.objects) || d.WorkTree != "" && roomless(d.WorkTree)) {
		return full(f) // it does not always say so
	}
	return classify(f)
}

// fatal tells a command that broke off from one that answers no by its status.
func (f *Failure) fatal() bool { return f.Status < 0 || f.Status >= 128 }

func full(f *Failure) error {
	return agency.Errorf(agency.KindTransient, "disk full: %w", &noSpace{f}).WithMend("free space on the disk of the path named above")
}

// noSpace is a failure that a full disk caused, whatever git called it.
type noSpace struct{ *Failure }

// Is tells that the cause is the operating system's.
func (*noSpace) Is(target error) bool { return target == syscall.ENOSPC }

// Unwrap gives what git said.
func (n *noSpace) Unwrap() error { return n.Failure }

// missing is a failure for want of an object.
type missing struct{ *Failure }

// Unwrap gives what git said.
func (m *missing) Unwrap() error { return m.Failure }

// IsMissing tells that an object is not where it should be: the repository is
// damaged, partial, or away for a moment. It is no fact of the step that met
// it, so that a run can go on when it is back.
func IsMissing(err error) bool {
	var m *missing
	return errors.As(err, &m)
}

// classify names the causes that lie outside: disk, rights, stale locks.
func classify(f *Failure) error {
	switch s := f.Stderr; {
	case badConfig.MatchString(s):
		m := badConfig.FindStringSubmatch(s)
		return agency.Errorf(agency.KindInvalid, "the git configuration cannot be read: %w", f).
			WithMend("correct %s, or take its include out of the repository's .git/config", filepath.Clean(m[1]+m[2]))
	case strings.Contains(s, "No space left on device"), strings.Contains(s, "Disk quota exceeded"):
		return full(f)
	case strings.Contains(s, "Permission denied"), strings.Contains(s, "Read-only file system"), strings.Contains(s, "insufficient permission"):
		return agency.Errorf(agency.KindTransient, "no right to write: %w", f).WithMend("give your user the right to write the path named above")
	case extensionForm.MatchString(s):
		return agency.Errorf(agency.KindInvalid, "the repository is kept in a form that this git does not know (%s): %w", extensionForm.FindStringSubmatch(s)[1], f).
			WithMend("install a git that knows it")
	case lockForm.MatchString(s):
		lock := lockForm.FindStringSubmatch(s)[1]
		return &Locked{Path: lock, Err: f}
	case strings.Contains(s, "unable to read tree"), strings.Contains(s, "unable to read "), strings.Contains(s, "cannot read object"), strings.Contains(s, "bad object"),
		strings.Contains(s, "missing blob"), strings.Contains(s, "invalid object"), strings.Contains(s, "object file"):
		return agency.Errorf(agency.KindTransient, "an object is missing: %w", &missing{f}).WithMend("git fsck names what is missing; a partial clone or a damaged one must be completed first (git fetch --refetch --no-filter)")
	}
	return f
}

// capped collects output up to a limit and then refuses, so that the writer
// is ended by a broken pipe.
type capped struct {
	buf  bytes.Buffer
	max  int64
	over bool
}

var errOver = errors.New("output over its cap")

// IsTooLong tells that what was asked for has more bytes than were allowed.
func IsTooLong(err error) bool { return errors.Is(err, errOver) }

func (c *capped) Write(p []byte) (int, error) {
	if room := c.max - int64(c.buf.Len()); int64(len(p)) > room {
		c.over = true
		n, _ := c.buf.Write(p[:room]) // never fails
		return n, errOver
	}
	return c.buf.Write(p)
}

// tail keeps the last max bytes.
type tail struct {
	b   []byte
	max int
	cut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > t.max {
		t.cut = true
		t.b = append(t.b[:0], t.b[len(t.b)-t.max:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	s := strings.ToValidUTF8(string(t.b), "?")
	if t.cut {
		s = agency.Ellipsis + s
	}
	return s
}
