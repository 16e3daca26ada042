//go:build unix

package slots

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// holder is the folder that this binary, started again, takes a slot of build in until
// its standard input ends.
const holder = "SLOTS_TEST_HOLDS"

func TestMain(m *testing.M) {
	dir := os.Getenv(holder)
	if dir == "" {
		os.Exit(m.Run())
	}
	if _, err := New(dir, map[string]int{"build": 1}).Take(context.Background(), []string{"build"}, quiet()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

func quiet() Wait { return Wait{Busy: func(Busy) error { return nil }} }

func pool(t *testing.T, counts map[string]int) *Pool {
	t.Helper()
	return New(Folder(t.TempDir()), counts)
}

func mustTake(t *testing.T, p *Pool, names ...string) *Held {
	t.Helper()
	h, err := p.Take(t.Context(), names, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A process that is killed gives back what it held, and nobody cleans up after it.
func TestKilledHolder(t *testing.T) {
	p := pool(t, map[string]int{"build": 1})
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), holder+"="+p.dir)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatal(line, err)
	}
	if n, err := p.InUse("build"); n != 1 || err != nil {
		t.Fatal("in use", n, err)
	}
	if h, busy, err := p.try([]string{"build"}); busy == nil || err != nil {
		t.Fatal("two hold it", h, err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // killed
	if n, err := p.InUse("build"); n != 0 || err != nil {
		t.Fatal("in use after the end of its holder", n, err)
	}
	mustTake(t, p, "build").Release()
}

// Whoever needs several, in whatever order, has them all or none, and all come to their
// turn.
func TestAllOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := map[string]int{"build": 1, "gpu": 2}
		p := pool(t, counts)
		holds := map[string]*atomic.Int32{"build": {}, "gpu": {}}
		var all sync.WaitGroup
		for i := range 12 {
			needs := [][]string{{"gpu", "build"}, {"build", "gpu"}, {"gpu"}, {"build"}}[i%4]
			all.Go(func() {
				for range 3 {
					h := mustTake(t, p, needs...)
					for _, name := range needs {
						if n := holds[name].Add(1); int(n) > counts[name] {
							t.Errorf("%d hold %s", n, name)
						}
					}
					time.Sleep(time.Second) // of the bubble: a command that runs
					for _, name := range needs {
						holds[name].Add(-1)
					}
					h.Release()
				}
			})
		}
		all.Wait()
	})
}

// Who cannot have all holds none meanwhile.
func TestNothingIsKept(t *testing.T) {
	p := pool(t, map[string]int{"build": 1, "gpu": 1})
	gpu := mustTake(t, p, "gpu")
	if _, busy, err := p.try([]string{"build", "gpu"}); err != nil || busy == nil || *busy != (Busy{"gpu", 1}) {
		t.Fatal(busy, err)
	}
	mustTake(t, p, "build").Release()
	gpu.Release()
	gpu.Release() // again
	both := mustTake(t, p, "gpu", "build", "gpu")
	if len(both.files) != 2 {
		t.Errorf("%d slots of two resources", len(both.files))
	}
	both.Release()
}

func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool(t, map[string]int{"gpu": 1})
		first := mustTake(t, p, "gpu")
		if first.Waited != 0 {
			t.Error("waited for what is free:", first.Waited)
		}
		time.AfterFunc(time.Minute, first.Release)
		var told []time.Duration
		began := time.Now()
		second, err := p.Take(t.Context(), []string{"gpu"}, Wait{Busy: func(b Busy) error {
			if b != (Busy{"gpu", 1}) {
				t.Error(b)
			}
			told = append(told, time.Since(began))
			return nil
		}})
		if err != nil || second.Waited < time.Minute || second.Waited > time.Minute+2*leastPause {
			t.Fatal(second, err)
		}
		if len(told) != 1 || told[0] < patience || told[0] > patience+2*firstPause {
			t.Error("told", told)
		}

		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the run is cancelled")
		time.AfterFunc(10*time.Second, func() { cancel(gone) })
		if _, err := p.Take(ctx, []string{"gpu"}, quiet()); !errors.Is(err, gone) {
			t.Error("cancelled:", err)
		}
		untold := errors.New("the store is full")
		if _, err := p.Take(t.Context(), []string{"gpu"}, Wait{Busy: func(Busy) error { return untold }}); !errors.Is(err, untold) {
			t.Error("untold:", err)
		}
		second.Release()
		if n, err := p.InUse("gpu"); n != 0 || err != nil {
			t.Error("who gave up left", n, err)
		}
	})
}

// Those who wait come first come first served, also where an earlier one needs more.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool(t, map[string]int{"gpu": 1, "build": 1})
		held := mustTake(t, p, "gpu")
		var all sync.WaitGroup
		needs := [][]string{{"gpu", "build"}, {"build"}, {"gpu"}} // build is free, but for who came before
		var mu sync.Mutex
		order := map[string][]int{} // by what is needed, who had it
		for i := range 10 {
			all.Go(func() {
				h, err := p.Counted(p.counts).Take(t.Context(), needs[i%3], quiet())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, name := range needs[i%3] {
					order[name] = append(order[name], i)
				}
				mu.Unlock()
				time.Sleep(time.Second) // of the bubble: a command that runs
				h.Release()
			})
			time.Sleep(10 * time.Second) // of the bubble: the next one comes
		}
		held.Release()
		all.Wait()
		if len(order["gpu"]) != 7 || !slices.IsSorted(order["gpu"]) || !slices.IsSorted(order["build"]) {
			t.Error("in the order", order)
		}
	})
}

// Whoever rests lets those go before it who came later, and what it rested is no waiting.
func TestRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool(t, map[string]int{"gpu": 1})
		held := mustTake(t, p, "gpu")
		var told atomic.Int32
		var rested atomic.Bool
		var all sync.WaitGroup
		all.Go(func() {
			h, err := p.Take(t.Context(), []string{"gpu"}, Wait{
				Busy: func(Busy) error { told.Add(1); return nil },
				Rest: func(_ context.Context, leave func()) (bool, error) {
					if rested.Load() || told.Load() == 0 {
						return false, nil
					}
					leave()
					time.Sleep(2 * time.Minute) // of the bubble: the pause
					rested.Store(true)
					return true, nil
				},
			})
			if err != nil || h.Waited > 5*time.Minute || told.Load() != 2 {
				t.Error(h, err, "told", told.Load())
			}
			h.Release()
		})
		time.Sleep(10 * time.Second) // of the bubble: it rests by now
		all.Go(func() {
			h := mustTake(t, p, "gpu")
			if rested.Load() {
				t.Error("it waited for who rests")
			}
			time.Sleep(5 * time.Minute) // of the bubble: until after the pause
			h.Release()
		})
		time.Sleep(time.Second)
		held.Release()
		all.Wait()

		gone := errors.New("the run is cancelled")
		held = mustTake(t, p, "gpu")
		if _, err := p.Take(t.Context(), []string{"gpu"}, Wait{Rest: func(context.Context, func()) (bool, error) { return true, gone }}); !errors.Is(err, gone) {
			t.Error(err)
		}
		held.Release()
		mustTake(t, p, "gpu").Release() // who gave up is in no line
	})
}

// A clock stands still while all that it counts wait.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool(t, map[string]int{"gpu": 1})
		held := mustTake(t, p, "gpu")
		began, stood := time.Now(), time.Duration(0)
		r := &Rests{Rest: func() func() {
			at := time.Now()
			return func() { stood += time.Since(at) }
		}}
		ctx := WithClock(t.Context(), r)
		var all sync.WaitGroup
		all.Go(func() {
			defer r.Begin()()
			h, err := p.Take(ctx, []string{"gpu"}, quiet())
			if err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second) // of the bubble: a command that runs
			h.Release()
		})
		all.Go(func() {
			defer r.Begin()()
			time.Sleep(time.Minute) // of the bubble: a command beside it
		})
		time.AfterFunc(3*time.Minute, held.Release)
		all.Wait()
		if worked := time.Since(began) - stood; worked < 61*time.Second || worked > 62*time.Second {
			t.Error("at work for", worked)
		}
		stood = 0
		mustTake(t, p, "gpu").Release()
		if stood != 0 {
			t.Error("what is free stops no clock")
		}
	})
}

func TestUnknown(t *testing.T) {
	p := pool(t, map[string]int{"build": 1})
	if _, err := p.Take(t.Context(), []string{"build", "gpu"}, quiet()); err == nil || !strings.Contains(err.Error(), "resource gpu") {
		t.Error(err)
	}
	if n, err := p.InUse("build"); n != 0 || err != nil {
		t.Error(n, err)
	}
	if h := mustTake(t, &Pool{}); h.Waited != 0 {
		t.Error(h)
	}
}

// Those who count a resource differently use the slots up to their own counts.
func TestOtherCount(t *testing.T) {
	two := pool(t, map[string]int{"gpu": 2})
	one := New(two.dir, map[string]int{"gpu": 1})
	a, b := mustTake(t, two, "gpu"), mustTake(t, two, "gpu")
	if n, err := two.InUse("gpu"); n != 2 || err != nil {
		t.Error(n, err)
	}
	b.Release()
	if _, busy, _ := one.try([]string{"gpu"}); busy == nil {
		t.Error("the first slot is held")
	}
	mustTake(t, two, "gpu").Release()
	a.Release()
	mustTake(t, one, "gpu").Release()
}

// A slot that is not the user's own is none: whoever put it there could hold it for ever,
// or have two hold the same.
func TestForeign(t *testing.T) {
	for name, put := range map[string]func(dir, slot, elsewhere string) error{
		"folder is a link": func(dir, _, elsewhere string) error { return os.Symlink(elsewhere, dir) },
		"folder for all":   func(dir, _, _ string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o755)) },
		"folder is a file": func(dir, _, _ string) error { return os.WriteFile(dir, nil, 0o600) },
		"slot is a link": func(dir, slot, elsewhere string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Symlink(filepath.Join(elsewhere, "f"), slot))
		},
		"slot is a dangling link": func(dir, slot, elsewhere string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Symlink(filepath.Join(elsewhere, "none"), slot))
		},
		"slot has another name": func(dir, slot, elsewhere string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Link(filepath.Join(elsewhere, "f"), slot))
		},
		"slot for all": func(dir, slot, _ string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(slot, nil, 0o600), os.Chmod(slot, 0o666))
		},
		"slot is a pipe":   func(dir, slot, _ string) error { return errors.Join(os.Mkdir(dir, 0o700), syscall.Mkfifo(slot, 0o600)) },
		"slot is a folder": func(dir, slot, _ string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(slot, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			p, elsewhere := pool(t, map[string]int{"gpu": 1}), t.TempDir()
			if err := os.WriteFile(filepath.Join(elsewhere, "f"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := put(p.dir, filepath.Join(p.dir, slotName("gpu", 0)), elsewhere); err != nil {
				t.Fatal(err)
			}
			h, err := p.Take(t.Context(), []string{"gpu"}, quiet())
			if err == nil || !strings.Contains(err.Error(), p.dir) {
				t.Fatal(h, err)
			}
			if _, err := p.InUse("gpu"); err == nil {
				t.Error("looked at all the same")
			}
			if made, _ := os.ReadDir(elsewhere); len(made) != 1 {
				t.Error("made elsewhere:", made)
			}
		})
	}
}
