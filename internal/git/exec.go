package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/text"
)

// hardening is given to every command (docs/security.md). An empty value after
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
	args         []string // after the global options
	dir          *Dir     // nil: no repository, as for `git version`
	env          []string // further variables
	config       []string // further key=value
	stdin        io.Reader
	stdout       io.Writer // takes the output at its own pace; nil: collected and returned, up to most
	width        int       // with noAttributes: letters of an object id
	most         int64     // bytes that are collected; 0: OutputCap
	toTree       bool      // it writes the work tree
	noAttributes bool      // shown to a person: no attributes decide how
	user         bool      // read the user's own global configuration as data
	settled      bool      // its output follows from the objects that it names, and is kept
}

const (
	stderrCap = 64 << 10
	killDelay = 2 * time.Second
)

// run starts git, waits for it and gives its standard output. The process
// group dies with ctx, and git dies with this process.
func (g *Program) run(ctx context.Context, c command) ([]byte, error) {
	if c.settled && !c.dir.user {
		return g.once(ctx, c)
	}
	if c.dir != nil {
		living := c.dir.living()
		c.dir = &living
	}
	ctx, cancel := context.WithTimeout(ctx, g.opts.Timeout)
	defer cancel()
	if c.dir != nil && c.dir.alone != nil {
		if err := c.dir.alone(ctx); err != nil {
			return nil, err
		}
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if c.noAttributes {
		shown, done, err := withoutAttributes(c.dir, c.width)
		if err != nil {
			return nil, err
		}
		defer done()
		c.dir = shown
	}
	if c.dir != nil && c.dir.WorkTree != "" {
		defer watchPipes(ctx, c.dir.WorkTree, end)()
	}
	cmd := exec.CommandContext(ctx, g.binary, g.argv(c)...)
	cmd.Env = g.env(c)
	cmd.Dir = "/"
	if c.dir != nil {
		cmd.Dir = c.dir.workingDir()
	}
	cmd.Stdin = c.stdin
	out := &capped{max: c.most}
	if out.max == 0 {
		out.max = g.opts.OutputCap
	}
	cmd.Stdout = out
	stderr := &text.Tail{Most: stderrCap}
	cmd.Stderr = stderr
	cmd.WaitDelay = killDelay
	isolate(cmd)

	err := g.onThread(c, func() error { return runInto(ctx, cmd, c.stdout) })
	if out.over {
		return out.buf.Bytes(), agency.Errorf(agency.KindExhausted, "git %s wrote more than %d bytes: %w", c.args[0], out.max, errOver)
	}
	if err != nil {
		return out.buf.Bytes(), g.explain(ctx, c.dir, c.args[0], err, endOf(stderr))
	}
	return out.buf.Bytes(), nil
}

// once gives what a settled command wrote before, or runs it.
func (g *Program) once(ctx context.Context, c command) (out []byte, err error) {
	c.settled = false
	key := c.dir.question(append(slices.Clone(c.args), strconv.FormatInt(c.most, 10))...)
	got, known := g.answers.get(key)
	switch {
	case known && c.stdout != nil:
		_, err = io.WriteString(c.stdout, got)
		return nil, err
	case known:
		return []byte(got), nil
	case c.stdout == nil:
		if out, err = g.run(ctx, c); err == nil {
			g.answers.put(key, string(out))
		}
		return out, err
	}
	kept := &text.Tail{Most: answerMost}
	c.stdout = io.MultiWriter(c.stdout, kept)
	_, err = g.run(ctx, c)
	if said, whole := kept.End(); err == nil && whole {
		g.answers.put(key, said)
	}
	return nil, err
}

// onThread starts and awaits a command on one thread: the kernel's death signal
// belongs to the thread that forked, which must not end before the child does.
func (g *Program) onThread(c command, do func() error) error {
	if c.dir == nil || !c.dir.foreign {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return do()
	}
	fence, err := g.fence(c)
	if err != nil {
		return err
	}
	return fence.Run(do)
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

func (g *Program) argv(c command) []string {
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

func (g *Program) env(c command) []string {
	env := []string{
		"PATH=" + filepath.Dir(g.binary) + ":/usr/bin:/bin",
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_ALLOW_PROTOCOL=",
		"GIT_ATTR_NOSYSTEM=1",
	}
	if c.user {
		env = append(env, "HOME="+g.opts.Getenv("HOME"))
		for _, k := range []string{"XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"} {
			if v := g.opts.Getenv(k); v != "" {
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
func (g *Program) explain(ctx context.Context, d *Dir, verb string, err error, stderr string) error {
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

// capped collects output up to a limit and then refuses, so that the writer
// is ended by a broken pipe.
type capped struct {
	buf  bytes.Buffer
	max  int64
	over bool
}

func (c *capped) Write(p []byte) (int, error) {
	if room := c.max - int64(c.buf.Len()); int64(len(p)) > room {
		c.over = true
		n, _ := c.buf.Write(p[:room]) // never fails
		return n, errOver
	}
	return c.buf.Write(p)
}

// endOf is the end of an output for people.
func endOf(t *text.Tail) string {
	s, whole := t.End()
	if s = strings.ToValidUTF8(s, "?"); !whole {
		s = text.Ellipsis + s
	}
	return s
}

// stuckAfter is how long a command on files runs before it is suspected. The
// search costs what a walk over the files does and changes nothing, so a
// command that is merely slow goes on.
const stuckAfter = time.Second

// watchPipes ends a command on the work tree with *Stuck as its cause when the
// command waits for a pipe. The result must be called when the command ended.
func watchPipes(ctx context.Context, workTree string, end context.CancelCauseFunc) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTimer(stuckAfter)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
			if found := pipes(ctx, workTree); len(found) > 0 {
				end(&Stuck{Paths: found})
			}
		}
	}()
	return func() { cancel(); <-done }
}

// mostPipes bounds what an error names.
const mostPipes = 10

// pipes lists the pipes that git would open.
func pipes(ctx context.Context, workTree string) []string {
	var found []string
	root, err := os.OpenRoot(workTree)
	if err != nil {
		return nil // git tells
	}
	defer func() { _ = root.Close() }() // only looked through
	_ = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil || len(found) == mostPipes:
			return fs.SkipAll
		case err != nil:
			return nil // git cannot look there either
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type()&os.ModeNamedPipe != 0 && strings.HasPrefix(d.Name(), ".git"):
			found = append(found, p)
		}
		return nil
	})
	slices.Sort(found)
	return found
}
