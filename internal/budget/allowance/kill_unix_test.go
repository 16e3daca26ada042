//go:build unix

package allowance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/store"
)

// TestKilledHostsNeverOverspend lets hosts of several repositories race for what is left
// of a day, as processes that are killed at any instant.
func TestKilledHostsNeverOverspend(t *testing.T) {
	const limit, slots = 3000, 20
	dir := t.TempDir()
	for round := range 4 {
		var all sync.WaitGroup
		for repo := range 3 {
			path := filepath.Join(dir, fmt.Sprintf("repo-%d.db", repo))
			runs(t, path).Close() //nolint:errcheck // its tables are made
			all.Go(func() {
				self, err := os.Executable()
				if err != nil {
					t.Error(err)
					return
				}
				cmd := exec.Command(self, "-test.run=^TestMain$")
				cmd.Env = append(os.Environ(), "ALLOWANCE_CHILD="+path, "ALLOWANCE_PATH="+filepath.Join(dir, "a.db"), "ALLOWANCE_SLOTS="+strconv.Itoa(slots/3+1))
				cmd.Stderr = os.Stderr
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Error(err)
					return
				}
				buf := make([]byte, 1)
				for n := 0; n < 5+7*repo+round; n++ { // answers
					if _, err := out.Read(buf); err != nil {
						break
					}
				}
				_ = cmd.Process.Kill()
				_ = cmd.Wait() // it was killed
			})
		}
		all.Wait()
	}
	u := newUser(filepath.Join(dir, "a.db"), Limit{Day, limit, "d"})
	u.alive = locked(dir)
	r := u.rig(t, "last")
	var spent, counted agency.Money
	a := r.left(t)
	must(t, r.Ledger.db.Read(t.Context(), func(q *store.Snapshot) error { return q.QueryRow(sumSpent, "").Scan(&spent) }))
	for repo := range 3 {
		var settled agency.Money
		db := runs(t, filepath.Join(dir, fmt.Sprintf("repo-%d.db", repo)))
		must(t, db.Read(t.Context(), func(q *store.Snapshot) error {
			return q.QueryRow(`SELECT coalesce(sum(money), 0) FROM budget_requests WHERE state = 'settled'`).Scan(&settled)
		}))
		counted += settled
	}
	if spent > limit || a.Held != 0 || a.Left < 0 || counted > spent {
		t.Errorf("%d of %d is spent, runs have settled %d, %+v", spent, limit, counted, a)
	}
	if spent < limit/4 {
		t.Errorf("only %d was spent: nobody raced", spent)
	}
}

// locked tells of repositories in a folder whether their host lives, by its lock.
func locked(dir string) func(repo string) bool {
	return func(repo string) bool {
		f, err := os.Open(filepath.Join(dir, repo+".lock"))
		if err != nil {
			return true // it is beginning
		}
		defer func() { _ = f.Close() }() // with the lock, where it was free
		return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
	}
}

// child is a host whose slots spend until nothing is left; it says each answer.
func child(path string) {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Options{Path: path, Sets: []store.Set{event.Migrations(), budget.Migrations()}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer func() { _ = lock.Close() }() // held to the end
	u := newUser(os.Getenv("ALLOWANCE_PATH"), Limit{Day, 3000, "d"})
	u.alive = locked(filepath.Dir(path))
	r, err := u.host(ctx, db, filepath.Base(path))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	slots, _ := strconv.Atoi(os.Getenv("ALLOWANCE_SLOTS"))
	var all sync.WaitGroup
	for i := range slots {
		all.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("%d/%d/%d", r.fence.Epoch, i, n)
				key, most, err := r.ask(ctx, key, 120, 20)
				if errors.As(err, new(*budget.Exhausted)) {
					return
				}
				if err == nil {
					err = r.settle(ctx, key, most/2)
				}
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Print(".")
			}
		})
	}
	all.Wait()
}

func TestMain(m *testing.M) {
	if path := os.Getenv("ALLOWANCE_CHILD"); path != "" {
		child(path)
		return
	}
	os.Exit(m.Run())
}
