package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/store"
)

// onSmallDisk runs a test of this file again in a process with mounts of its
// own, where it can have a small disk.
func onSmallDisk(t *testing.T, test, size string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+test+"$", "-test.v", "-test.timeout=4m")
	cmd.Env = append(os.Environ(), "DAEMON_SMALL_DISK="+size)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case cmd.ProcessState == nil, strings.Contains(string(out), "--- SKIP: "+test):
		t.Skipf("no small disk can be mounted here: %v %s", err, out)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
}

// disk is a small one that a test of this file has its state on.
type disk struct {
	t    *testing.T
	dir  string
	full []string
}

// smallDisk mounts the folder for states; it skips outside of onSmallDisk.
func smallDisk(t *testing.T, w *work) *disk {
	t.Helper()
	size := os.Getenv("DAEMON_SMALL_DISK")
	if size == "" {
		t.Skip("only within a process with mounts of its own")
	}
	d := &disk{t: t, dir: w.place.State}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skip(err)
	}
	if err := unix.Mount("tmpfs", d.dir, "tmpfs", 0, "mode=700,size="+size); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(d.dir, unix.MNT_DETACH) })
	return d
}

// fill leaves no byte, and nothing that could be given up.
func (d *disk) fill() {
	d.t.Helper()
	if err := os.RemoveAll(filepath.Join(d.dir, "agency.db.reserve")); err != nil {
		d.t.Fatal(err)
	}
	d.crowd()
}

// crowd takes all room but what is kept back for what must not be lost.
func (d *disk) crowd() {
	d.t.Helper()
	name := filepath.Join(d.dir, fmt.Sprintf("ballast-%d", len(d.full)))
	f, err := os.Create(name)
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if f != nil {
		d.full = append(d.full, name)
		_ = f.Close()
	}
	if !store.IsFull(err) {
		d.t.Fatal(err)
	}
}

// free makes room.
func (d *disk) free() {
	d.t.Helper()
	for _, name := range d.full {
		if err := os.Remove(name); err != nil {
			d.t.Fatal(err)
		}
	}
	d.full = nil
	if err := unix.Mount("tmpfs", d.dir, "tmpfs", unix.MS_REMOUNT, "mode=700,size=600m"); err != nil {
		d.t.Fatal(err)
	}
}

const filling = `
version: 1
name: filling
rules:
  - when: {turn: 1}
    calls: [{tool: write_file, args: {path: hold, content: "x\n"}}, {tool: run_command, args: {command: "while [ -e hold ]; do sleep 0.01; done"}}]
  - when: {turn: 2}
    calls: [{tool: write_file, args: {path: new.txt, content: "CONTENT\n"}}]
  - when: {turn: "3+"}
    calls: [{tool: signal_complete, args: {evidence: done}}]
`

// Something fills the disk while an agent works, whose own commands the sandbox
// ends before they could: the run stops at a gate that names it, no attempt is
// used, nothing is paid twice, and it goes on when there is room.
func TestFullDiskStopsAtAGate(t *testing.T) {
	sizes := []string{"8m"}
	if !testing.Short() {
		sizes = []string{"5m", "8m", "14m", "30m"}
	}
	for _, size := range sizes {
		t.Run(size, func(t *testing.T) { onSmallDisk(t, "TestFullDiskByOthers", size) })
	}
}

func TestFullDiskByOthers(t *testing.T) {
	w := newWork(t, filling)
	disk := smallDisk(t, w)
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", true)); err != nil {
		t.Fatal(err)
	}
	for !letGo(t, w, disk.crowd) {
		if _, err := c.Runs(t.Context()); err != nil { // paces the loop, ends it with the test
			t.Fatal(err)
		}
	}
	w.until(c, "run-1", 0, "gate_pending")
	at := w.until(c, "run-1", 0, "run_waiting")
	doc, err := c.Inspect(t.Context(), "run-1")
	if err != nil || doc.State != agency.StateWaiting || len(doc.Gates) != 1 || doc.Gates[0].Kind != agency.GateFault {
		t.Fatalf("%s %q %+v %v", doc.State, doc.Reason, doc.Gates, err)
	}
	gates, err := c.Gates(t.Context(), "run-1")
	if err != nil || !strings.Contains(gates[0].Body, w.place.State) || !strings.Contains(gates[0].Body, "agency resume run-1") {
		t.Errorf("the gate does not say what to do: %q %v", gates[0].Body, err)
	}
	disk.free()
	if os.Getenv("DAEMON_SMALL_DISK") == "8m" {
		_, err = c.Answer(t.Context(), "run-1", api.AnswerRequest{Verb: agency.Approve, By: "test"})
	} else {
		_, err = c.Resume(t.Context(), "run-1", api.ResumeRequest{By: "test"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for runs := []api.RunDoc{{}}; runs[0].State != agency.StateSucceeded; {
		letGo(t, w, func() {}) // the call of the turn that was lost runs again
		if runs, err = c.Runs(t.Context()); err != nil || runs[0].State.Final() && runs[0].State != agency.StateSucceeded {
			t.Fatal(runs, err)
		}
	}
	w.until(c, "run-1", at.ID, "run_succeeded")
	if doc, err = c.Inspect(t.Context(), "run-1"); err != nil || len(doc.Contracts) != 1 || doc.Contracts[0].Attempts != 1 {
		t.Errorf("contracts %+v %v", doc.Contracts, err)
	}
	if turns := count(t, c, "run-1", "turn_completed"); turns != 3 {
		t.Errorf("%d turns for a script of 3", turns)
	}
	w.healthy(d, "run-1")
}

// Not a byte is left, not even for the gate: followers are told at once, those
// who look see the same, and the host writes it when there is room.
func TestFullDiskHoldsTheRun(t *testing.T) { onSmallDisk(t, "TestFullDiskToTheLastByte", "20m") }

const holding = `
version: 1
name: holding
rules:
  - when: {turn: 1}
    calls: [{tool: write_file, args: {path: hold, content: "x\n"}}, {tool: run_command, args: {command: "while [ -e hold ]; do sleep 0.01; done"}}]
  - when: {turn: "2+"}
    calls: [{tool: write_file, args: {path: new.txt, content: "x\n"}}, {tool: signal_complete, args: {evidence: done}}]
`

// letGo lets the command of holding end, after do, where it has begun.
func letGo(t *testing.T, w *work, do func()) bool {
	t.Helper()
	var found []string
	_ = filepath.WalkDir(w.place.State, func(p string, _ fs.DirEntry, err error) error { // files come and go meanwhile
		if err == nil && filepath.Base(p) == "hold" {
			found = append(found, p)
		}
		return nil
	})
	if len(found) > 0 {
		do()
	}
	for _, name := range found {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return len(found) > 0
}

func TestFullDiskToTheLastByte(t *testing.T) {
	w := newWork(t, holding)
	disk := smallDisk(t, w)
	clock := &handClock{}
	d, c := w.start(Options{After: clock.after})
	if _, err := c.Start(t.Context(), w.request("run-1", true)); err != nil {
		t.Fatal(err)
	}
	for !letGo(t, w, disk.fill) {
		if _, err := c.Runs(t.Context()); err != nil { // paces the loop, ends it with the test
			t.Fatal(err)
		}
	}
	err := followed(t, c, "run-1")
	if agency.KindOf(err) != agency.KindTransient || !strings.Contains(err.Error(), "disk is full") || !strings.Contains(err.Error(), w.place.DB()) ||
		!strings.Contains(agency.MendOf(err), "agency resume run-1") {
		t.Fatalf("followers are told %v; %s", err, agency.MendOf(err))
	}
	runs, err := c.Runs(t.Context())
	if err != nil || runs[0].State != agency.StateInterrupted || !strings.Contains(runs[0].Reason, "disk is full") {
		t.Errorf("lookers are told %+v %v", runs, err)
	}
	if _, err := c.Resume(t.Context(), "run-1", api.ResumeRequest{By: "test"}); agency.KindOf(err) != agency.KindTransient || agency.MendOf(err) == "" {
		t.Errorf("resumed on a full disk: %v", err)
	}
	disk.free()
	for runs[0].State != agency.StateWaiting { // nobody asks: the host's own clock brings it about
		clock.ring()
		if runs, err = c.Runs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Resume(t.Context(), "run-1", api.ResumeRequest{By: "test"}); err != nil {
		t.Fatal(err)
	}
	for runs[0].State != agency.StateSucceeded {
		letGo(t, w, func() {}) // the call of the turn that was lost runs again
		if runs, err = c.Runs(t.Context()); err != nil || runs[0].State.Final() && runs[0].State != agency.StateSucceeded {
			t.Fatal(runs, err)
		}
	}
	w.healthy(d, "run-1")
}

// followed gives the error that ends a follower's stream.
func followed(t *testing.T, c *api.Client, id agency.RunID) error {
	t.Helper()
	for _, err := range c.Events(t.Context(), api.EventQuery{Run: id, Follow: true}) {
		if err != nil {
			return err
		}
	}
	return errors.New("the stream ended without a word")
}

// handClock lets no time pass until it is rung.
type handClock struct {
	mu  sync.Mutex
	due []func()
}

func (h *handClock) after(_ time.Duration, f func()) func() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.due)
	h.due = append(h.due, f)
	return func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		if n < len(h.due) {
			h.due[n] = nil
		}
		return true
	}
}

func (h *handClock) ring() {
	h.mu.Lock()
	due := h.due
	h.due = nil
	h.mu.Unlock()
	for _, f := range due {
		if f != nil {
			f()
		}
	}
}
