package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"

	"agency/internal/agency"
)

// spawn starts a host in the background and waits until it is ready or says
// why not. The host goes on when this process ends: it has a session of its
// own, stands in no folder of anybody's, and holds no file of this process.
func spawn(ctx context.Context, o Options) error {
	spec, err := json.Marshal(o)
	if err != nil {
		return err
	}
	path, err := selfPath()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "starting a host: %w", err)
	}
	tell, told, err := os.Pipe()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "starting a host: %w", err)
	}
	defer func() { _ = tell.Close() }() // read to its end, or given up
	trace, err := os.OpenFile(o.Place.LogFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		_ = told.Close()
		return agency.Errorf(agency.KindTransient, "starting a host: %w", err)
	}
	cmd := exec.Cmd{
		Path: path, Args: []string{childName}, Dir: "/", Env: passed(os.Environ()), Stdin: bytes.NewReader(spec),
		Stderr: trace, ExtraFiles: []*os.File{told}, SysProcAttr: ownSession(),
	}
	err = cmd.Start()
	_ = told.Close() // the child has its own, and its end must be seen here
	_ = trace.Close()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "starting a host: %w", err)
	}
	exited := make(chan struct{})
	go func() { // reaps it where it ends before this process does
		_ = cmd.Wait()
		close(exited)
	}()
	answer := make(chan ready, 1)
	go func() {
		var r ready
		if b, err := io.ReadAll(io.LimitReader(tell, 1<<20)); err == nil {
			_ = json.Unmarshal(b, &r) // an empty answer is one too
		}
		answer <- r
	}()
	select {
	case r := <-answer:
		if !r.silent() {
			return r.err()
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-exited: // its end closed the line
		return unready(cmd.ProcessState, o.Place.LogFile())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unready is a host that ended without a word. One that somebody else ended
// (a kill, a machine short of memory) is to be started again; one that ended
// by itself has a fault, and its log shows it.
func unready(end *os.ProcessState, logFile string) error {
	const what = "the host of this repository ended before it was ready"
	if cut, by := cutOff(end); cut {
		return agency.Errorf(agency.KindTransient, "%s: it was ended from outside (%s)", what, by).WithMend("type the same again; where it happens again, see %s", logFile)
	}
	return agency.Errorf(agency.KindInternal, "%s (%s)", what, end).WithMend("see %s", logFile)
}
