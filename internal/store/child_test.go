package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"agency/internal/agency"
)

// runChild is the process that the crash tests start and kill: the test
// binary again, told what to be by its environment.
func runChild() bool {
	switch os.Getenv("STORE_CHILD") {
	case "writer":
		childWriter(os.Getenv("STORE_CHILD_PATH"), os.Getenv("STORE_CHILD_NAME"), os.Getenv("STORE_CHILD_PLANT") != "")
	case "small disk":
		orExit(childSmallDisk(os.Getenv("STORE_CHILD_PATH"), os.Getenv("STORE_CHILD_NAME")))
	case "reserve":
		orExit(childReserve(os.Getenv("STORE_CHILD_PATH"), os.Getenv("STORE_CHILD_NAME")))
	default:
		return false
	}
	return true
}

func orExit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childCommand(t *testing.T, what, path, name string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "STORE_CHILD="+what, "STORE_CHILD_PATH="+path, "STORE_CHILD_NAME="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// childWriter writes tokens from several callers for ever and prints each one
// that was acknowledged. Tokens are the clients' own: a row id that is given
// out again after a rollback would hide a lost write.
func childWriter(path, name string, plant bool) {
	o := Options{Path: path, Sets: []Set{notes()}}
	o.seams.ackEarly = plant
	db, err := Open(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	var out sync.Mutex
	var n atomic.Int64
	for range 8 {
		wg.Go(func() {
			for {
				token := fmt.Sprintf("%s-%d", name, n.Add(1))
				if err := db.Write(context.Background(), put(token)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				out.Lock()
				fmt.Println(token)
				out.Unlock()
			}
		})
	}
	wg.Wait()
}

// killRounds starts the writer again and again, kills it after some
// acknowledgements, and counts those that are not in the store.
func killRounds(t *testing.T, rounds int, plant bool) (acknowledged, lost int) {
	t.Helper()
	o := at(t)
	open(t, o)
	acked := map[string]bool{}
	random := rand.New(rand.NewPCG(1, uint64(rounds)))
	for round := range rounds {
		cmd := childCommand(t, "writer", o.Path, fmt.Sprint("r", round))
		if plant {
			cmd.Env = append(cmd.Env, "STORE_CHILD_PLANT=1")
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		left := 1 + random.IntN(200)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			acked[lines.Text()] = true
			if left--; left == 0 {
				_ = cmd.Process.Kill() // what it has printed until it dies counts too
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
	}
	db := open(t, o)
	if err := db.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	have := tokens(t, db)
	for token := range acked {
		if !have[token] {
			lost++
		}
	}
	return len(acked), lost
}

func TestKill9LosesNothing(t *testing.T) {
	rounds := 15
	if os.Getenv("AGENCY_TORTURE") != "" {
		rounds = 200
	}
	acked, lost := killRounds(t, rounds, false)
	t.Logf("%d kills, %d acknowledged, %d lost", rounds, acked, lost)
	if lost > 0 || acked < rounds {
		t.Fatalf("%d of %d acknowledged writes are lost", lost, acked)
	}
}

// TestKill9SeesAckBeforeCommit plants the fault that the rig is for.
func TestKill9SeesAckBeforeCommit(t *testing.T) {
	if _, lost := killRounds(t, 20, true); lost == 0 {
		t.Fatal("writes acknowledged before their commit were not missed by the rig")
	}
}

// fill writes until there is no room, and returns what was acknowledged.
func fill(db *DB, prefix string, size int) (acked []string, err error) {
	body := strings.Repeat("x", size)
	for i := range 100_000 {
		token := fmt.Sprint(prefix, i)
		err = db.Write(context.Background(), func(tx *Tx) error {
			_, err := tx.Exec("INSERT INTO note (token, body) VALUES (?, ?)", token, body)
			return err
		})
		if err != nil {
			return acked, err
		}
		acked = append(acked, token)
	}
	return acked, errors.New("the disk does not get full")
}

// surviveFullDisk fills the store, makes room and goes on.
func surviveFullDisk(db *DB, has func() (map[string]bool, error), room func() error) error {
	acked, err := fill(db, "a", 3000)
	if !errors.Is(err, ErrDiskFull) {
		return fmt.Errorf("want disk full, got %w", err)
	}
	if err := db.Write(context.Background(), put("no room")); err == nil {
		acked = append(acked, "no room") // a small row may fit where a large one does not
	} else if !errors.Is(err, ErrDiskFull) {
		return fmt.Errorf("the second time: %w", err)
	}
	if err := room(); err != nil {
		return err
	}
	if err := db.Write(context.Background(), put("room again")); err != nil {
		return fmt.Errorf("after room was made: %w", err)
	}
	have, err := has()
	if err != nil {
		return err
	}
	for _, token := range append(acked, "room again") {
		if !have[token] {
			return fmt.Errorf("lost %s", token)
		}
	}
	return db.Check(context.Background())
}

func noteTokens(db *DB) func() (map[string]bool, error) {
	return func() (out map[string]bool, err error) {
		out = map[string]bool{}
		err = db.Read(context.Background(), func(s *Snapshot) error {
			rows, err := s.Query("SELECT token FROM note")
			if err != nil {
				return err
			}
			for rows.Next() {
				var token string
				if err := rows.Scan(&token); err != nil {
					return err
				}
				out[token] = true
			}
			return rows.Err()
		})
		return out, err
	}
}

func TestDiskFullByPageLimit(t *testing.T) {
	o := at(t)
	o.seams.maxPages = 60
	db := open(t, o)
	_, err := fill(db, "f", 3000)
	wantKind(t, err, agency.KindTransient)
	if err := surviveFullDiskAgain(db); err != nil {
		t.Fatal(err)
	}
}

func surviveFullDiskAgain(db *DB) error {
	return surviveFullDisk(db, noteTokens(db), func() error {
		return db.Write(context.Background(), func(tx *Tx) error {
			_, err := tx.Exec("DELETE FROM note WHERE token GLOB 'f*'")
			return err
		})
	})
}

func TestDiskFullOnSmallDisks(t *testing.T) {
	for _, size := range []string{"512k", "1m", "2m", "6m"} {
		t.Run(size, func(t *testing.T) { onSmallDisk(t, "small disk", size) })
	}
}

func childSmallDisk(dir, size string) error {
	if err := mountTmpfs(dir, size); err != nil {
		fmt.Println("skip:", err)
		return nil
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 200<<10), 0o600); err != nil {
		return err
	}
	db, err := Open(context.Background(), Options{Path: filepath.Join(dir, "s.db"), Sets: []Set{notes()}})
	if err != nil {
		return err
	}
	err = surviveFullDisk(db, noteTokens(db), func() error { return os.Remove(ballast) })
	return errors.Join(err, db.Close())
}
