//go:build linux

package torture

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// orderChild writes one event after the other and says each that was
// acknowledged, in one write: the traced process of TestOrderOfSyncAndAck.
func orderChild(dir string, n int) error {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "agency.db"), Sets: []store.Set{event.Migrations()}})
	if err != nil {
		return err
	}
	for i := range n {
		err := db.Write(ctx, func(tx *store.Tx) error {
			_, err := event.Append(tx, agency.NewEvent("run", agency.SeverityInfo, fmt.Sprint("event ", i), agency.Merged{Branch: "main"}))
			return err
		})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(os.Stdout, "ack %d\n", i); err != nil {
			return err
		}
	}
	return db.Close()
}

// TestOrderOfSyncAndAck traces the system calls of a writer: between the last
// write into the write-ahead log and an acknowledgement there is a sync of it.
func TestOrderOfSyncAndAck(t *testing.T) {
	n := 60
	if *long {
		n = 500
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "trace")
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-y", "-qq", "-s", "64", "-e", "trace=write,pwrite64,fsync,fdatasync", "-o", log, self)
	cmd.Env = append(os.Environ(), fmt.Sprint("TORTURE_ORDER=", n), "TORTURE_DIR="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if strings.Contains(stderr.String(), "ptrace") || strings.Contains(stderr.String(), "not permitted") {
			t.Skipf("tracing is not allowed here: %s", stderr.String())
		}
		t.Fatalf("%v: %s", err, stderr.String())
	}
	trace, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	acks, syncs, violations := order(string(trace))
	t.Logf("%d acknowledgements, %d syncs of the log, %d violations", acks, syncs, len(violations))
	if acks != n || syncs < n {
		t.Errorf("%d acknowledgements and %d syncs were seen, want %d: the trace proves nothing", acks, syncs, n)
	}
	for _, v := range violations {
		t.Error("acknowledged before the sync: " + v)
	}
}

var traced = regexp.MustCompile(`^(\d+) +(?:(\w+)\(|<\.\.\. (\w+) resumed>)`)

// order reads a trace. A write counts from its beginning, a sync from its end,
// and one that began before the last write does not count.
func order(trace string) (acks, syncs int, violations []string) {
	dirty := false
	covers := map[string]bool{} // thread → no write since its sync began
	for line := range strings.Lines(trace) {
		m := traced.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		thread, call, resumed := m[1], m[2], m[3]
		wal := strings.Contains(line, ".db-wal>")
		unfinished := strings.Contains(line, "<unfinished ...>")
		switch {
		case (call == "write" || call == "pwrite64") && wal:
			dirty = true
			clear(covers)
		case (call == "fsync" || call == "fdatasync") && wal && unfinished:
			covers[thread] = true
		case (call == "fsync" || call == "fdatasync") && wal, resumed == "fsync" || resumed == "fdatasync":
			if call != "" || covers[thread] {
				dirty = false
				syncs++
			}
			delete(covers, thread)
		case call == "write" && strings.Contains(line, `"ack `):
			acks++
			if dirty {
				violations = append(violations, strings.TrimSpace(line))
			}
		}
	}
	return acks, syncs, violations
}

func TestOrderIsReadFromATrace(t *testing.T) {
	const (
		write = "7 pwrite64(3</x/agency.db-wal>, \"\", 10, 0) = 10\n"
		sync  = "7 fdatasync(3</x/agency.db-wal>) = 0\n"
		begin = "7 fdatasync(3</x/agency.db-wal> <unfinished ...>\n"
		end   = "7 <... fdatasync resumed>) = 0\n"
		ack   = "8 write(1<pipe:[1]>, \"ack 1\\n\", 6) = 6\n"
	)
	for name, c := range map[string]struct {
		trace string
		bad   int
	}{
		"in order":                   {write + sync + ack, 0},
		"acknowledged early":         {write + ack + sync, 1},
		"acknowledged in the sync":   {write + begin + ack + end, 1},
		"written during the sync":    {write + begin + "9 pwrite64(3</x/agency.db-wal>, \"\", 1, 0) = 1\n" + end + ack, 1},
		"in order, in two pieces":    {write + begin + end + ack, 0},
		"another file was synced":    {write + "7 fdatasync(4</x/agency.db>) = 0\n" + ack, 1},
		"nothing written in between": {write + sync + ack + ack, 0},
	} {
		if _, _, got := order(c.trace); len(got) != c.bad {
			t.Errorf("%s: %v", name, got)
		}
	}
}
