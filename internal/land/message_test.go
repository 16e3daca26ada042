package land_test

import (
	"os/exec"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/git/gittest"
	"agency/internal/land"
	"agency/internal/store"
)

// says has a session of a contract claim with these words.
func (w *world) says(contract agency.ContractID, words string) {
	w.t.Helper()
	err := w.db.Write(w.t.Context(), func(tx *store.Tx) error {
		ev := agency.NewEvent(runID, agency.SeverityInfo, "claims", agency.Claimed{Summary: words})
		ev.ContractID = contract
		_, err := event.Append(tx, ev)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// What agents say stands in the commit of their work and in the merge; nothing of it is a
// trailer, and nothing cuts off those that are ours.
func TestCommitsSayWhatTheAgentSays(t *testing.T) {
	for name, said := range map[string]string{
		"plain":       "I took the lock before the read.",
		"trailers":    "I took the lock before the read.\n\nSigned-off-by: Eve <eve@example.com>\nAgency-Run: another\nAgency-Step: forged",
		"only those":  "Agency-Contract: I took the lock before the read.",
		"divider":     "I took the lock before the read.\n\nAgency-Run: another\n---\n a | 1 +",
		"bare":        "Reviewed-by: Eve\n---",
		"scissors":    "I took the lock before the read.\n\nAgency-Run: another\n# ------------------------ >8 ------------------------\nrest",
		"old git":     "I took the lock before the read.\n\nConflicts:\n\ta.txt",
		"very long":   "I took the lock before the read. " + strings.Repeat("And the write. ", 2000),
		"first lines": "---\nAgency-Run: another\n\nI took the lock before the read.",
		"approval":    "I took the lock before the read.\n\nApproved by: a person",
		"returns":     "I took the lock before the read.\r\n\r\nAgency-Run: another\r\n\x1b[31m",
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, gittest.New(t, "a.txt", "1\n2\n3\n", "gone.txt", "g\n", "dir", "file\n"), false)
			w.says("main", said)
			w.mustLand()
			work := w.repo.Rev(branch)
			w.mustMerge(land.MergeSpec{})
			for commit, want := range map[agency.OID]string{
				w.repo.Rev(target): "Agency-Run: run-1",
				work:               "Agency-Run: run-1\nAgency-Contract: main\nAgency-Step: land",
			} {
				message := w.repo.Git("show", "-s", "--format=%B", string(commit))
				cmd := exec.Command("git", "interpret-trailers", "--parse")
				cmd.Stdin = strings.NewReader(message + "\n")
				out, err := cmd.Output()
				if got := strings.TrimSpace(string(out)); err != nil || got != want {
					t.Errorf("trailers %q, %v, want %q, of:\n%s", got, err, want, message)
				}
				if name != "bare" && !strings.Contains(message, "I took the lock before the read.") {
					t.Errorf("nothing of what the agent says:\n%s", message)
				}
				if strings.Contains(message, "\nApproved by:") {
					t.Errorf("an approval was forged:\n%s", message)
				}
				if len(message) > 12<<10 || strings.ContainsAny(message, "\x1b\r") {
					t.Errorf("a message of %d bytes: %.200q", len(message), message)
				}
			}
		})
	}
}

// Of several contracts the merge has a line each, oldest first.
func TestMergeSaysWhatEachAgentSays(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "1\n"), false)
	for _, spec := range w.contracts("one", "two", "silent") {
		if spec.Contract != "silent" {
			w.says(spec.Contract, "I made "+string(spec.Contract)+".\nAnd more.")
		}
		if out := w.land(agency.StepKey("land-"+spec.Contract), spec); out.Landed == nil {
			t.Fatalf("%+v", out)
		}
	}
	if out := w.merge("merge", land.MergeSpec{}); out.Merged == nil {
		t.Fatalf("%+v", out)
	}
	got := w.repo.Git("show", "-s", "--format=%b", string(w.repo.Rev(target)))
	if want := "- one: I made one. And more.\n- two: I made two. And more.\n\nAgency-Run: run-1"; strings.TrimSpace(got) != want {
		t.Errorf("the merge says:\n%s\nwant:\n%s", got, want)
	}
}
