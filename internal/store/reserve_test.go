package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agency/internal/agency"
)

// What must not be lost is written on a full disk, and looked at there; the
// room that it took is kept back again when there is plenty.
func TestReserveOnSmallDisks(t *testing.T) {
	for _, size := range []string{"2m", "3m", "6m", "14m"} {
		t.Run(size, func(t *testing.T) { onSmallDisk(t, "reserve", size) })
	}
}

func childReserve(dir, size string) error {
	if err := mountTmpfs(dir, size); err != nil {
		fmt.Println("skip:", err)
		return nil
	}
	var mono time.Duration
	const kept = 256 << 10
	o := Options{
		Path: filepath.Join(dir, "s.db"), Sets: []Set{notes()}, Reserve: kept,
		Mono: func() time.Duration { mono += time.Second; return mono },
	}
	db, err := Open(context.Background(), o)
	if err != nil {
		return err
	}
	if fileSize(db.reserve.path) != kept {
		return errors.New("no reserve is made")
	}
	ballast := filepath.Join(dir, "ballast")
	if err := fillDisk(ballast); err != nil {
		return err
	}
	if _, err := fill(db, "a", 3000); !errors.Is(err, ErrDiskFull) {
		return fmt.Errorf("want disk full, got %w", err)
	}
	if err := db.Write(Needed(context.Background()), put("needed")); err != nil {
		return fmt.Errorf("a needed write: %w", err)
	}
	err = errors.Join(fillDisk(filepath.Join(dir, "more")), db.Close())
	err = errors.Join(err, fillDisk(filepath.Join(dir, "most"))) // the log is gone with its last user
	if err := errors.Join(err, stillThere(o, "needed")); err != nil {
		return fmt.Errorf("looking at a full disk: %w", err)
	}
	if err := errors.Join(goOn(o, ballast), fillDisk(ballast)); err != nil {
		return err
	}
	return stillThere(o, "later7")
}

// fillDisk writes a file until the disk is full.
func fillDisk(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if cerr := f.Close(); cerr != nil || !IsFull(err) {
		return errors.Join(err, cerr)
	}
	return nil
}

// stillThere looks as a command does that only looks.
func stillThere(o Options, token string) error {
	o.ReadOnly = true
	db, err := Open(context.Background(), o)
	if err != nil {
		return err
	}
	have, err := noteTokens(db)()
	if err == nil && !have[token] {
		err = errors.New("lost " + token)
	}
	return errors.Join(err, db.Close())
}

// goOn writes again after room was made, and keeps room back again.
func goOn(o Options, ballast string) error {
	if err := os.Remove(ballast); err != nil {
		return err
	}
	db, err := Open(context.Background(), o)
	if err != nil {
		return err
	}
	for i := range 8 { // time passes with each write
		if err := db.Write(context.Background(), put(fmt.Sprint("later", i))); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	if fileSize(db.reserve.path) != o.Reserve {
		return errors.Join(errors.New("no room is kept back again"), db.Close())
	}
	return errors.Join(db.Check(context.Background()), db.Close())
}

// A look at a store that no process has open needs no room and changes
// nothing, as on a disk that may not be written.
func TestLookingCreatesNothing(t *testing.T) {
	o := at(t)
	db := open(t, o)
	mustWrite(t, db, put("a"))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 { // root may write in any folder
		if err := os.Chmod(filepath.Dir(o.Path), 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Dir(o.Path), 0o700) })
	}
	if err := stillThere(o, "a"); err != nil {
		t.Fatal(err)
	}
}

func TestFullDiskIsTold(t *testing.T) {
	for _, err := range []error{
		fmt.Errorf("x: %w", ErrDiskFull), &os.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC},
		agency.Errorf(agency.KindTransient, "x: %w", syscall.EDQUOT),
	} {
		if !IsFull(err) {
			t.Errorf("%v is not told", err)
		}
	}
	if IsFull(errors.New("no space left on device")) || IsFull(nil) {
		t.Error("words alone are taken for a full disk")
	}
	if Full(t.TempDir()) || Full(filepath.Join(t.TempDir(), "missing", "deep")) {
		t.Error("a disk with room is called full")
	}
}

func onSmallDisk(t *testing.T, what, size string) {
	t.Helper()
	cmd := childCommand(t, what, t.TempDir(), size)
	if !isolate(cmd) {
		t.Skip("mount namespaces are for Linux")
	}
	out, err := cmd.Output()
	if strings.HasPrefix(string(out), "skip") || cmd.ProcessState == nil {
		t.Skipf("no mounts here: %s %v", out, err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
