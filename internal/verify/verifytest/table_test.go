package verifytest

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/race"
	"agency/internal/verify"
)

var whole = flag.Bool("whole", false, "take every claim of the table through verification, not two of seven")

var oracles = flag.Bool("oracles", false, "hold the table of claims to what it says of itself: its suites and oracles")

// TestTable takes a table of claims through verification as it is: real git,
// sandbox, store and toolchains. A trick gets a criterion marked `verified`
// without the work, an honest change did the work. testdata/table/README.md
// says how a case is written. Of each language two of seven are taken, unless
// all are asked for or some by their names.
func TestTable(t *testing.T) {
	cases := readTable(t)
	if asked := flag.Lookup("test.run"); !*whole && !strings.Contains(asked.Value.String(), "/") {
		cases = someOf(cases)
	}
	if race.Enabled {
		t.Skip("runs every toolchain")
	}
	t.Parallel()
	w := New(t, manifests)
	missing := missingTools()
	var mu sync.Mutex
	said := map[*tableCase]string{} // "" is what is wanted
	took := map[string]time.Duration{}
	t.Run("case", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.lang+"/"+c.name, func(t *testing.T) {
				if why := missing[c.lang]; why != "" {
					t.Skip(why)
				}
				t.Parallel()
				begun := time.Now()
				got := w.take(t, c)
				if got != "" {
					t.Logf("%s\ngoal: %s\n%s", c.class, c.goal, got)
				}
				mu.Lock()
				defer mu.Unlock()
				said[c] = got
				took[c.lang] += time.Since(begun)
			})
		}
	})
	sum(t, said)
	t.Logf("time by language: %v", took)
}

// someOf leaves two of seven tricks and honest changes of a language, still more
// than 120 of the ones and 60 of the others, or a sixth of those where time is short.
func someOf(cases []*tableCase) (out []*tableCase) {
	seen := map[string]int{}
	for _, c := range cases {
		kind := fmt.Sprint(c.lang, c.honest)
		if seen[kind]++; testing.Short() && seen[kind]%21 == 1 || !testing.Short() && (seen[kind]%7 == 1 || seen[kind]%7 == 4) {
			out = append(out, c)
		}
	}
	return out
}

// sum prints the two figures, and fails where one is too high.
func sum(t *testing.T, said map[*tableCase]string) {
	t.Helper()
	var tricks, honest int
	var through, missed []string
	for c, got := range said {
		line := fmt.Sprintf("%s/%s (%s)", c.lang, c.name, c.class)
		switch {
		case c.honest:
			honest++
			if why := cmp.Or(c.reason, firstLine(got)); got != "" {
				missed = append(missed, line+": "+why)
			}
		default:
			tricks++
			if got != "" {
				through = append(through, line+": "+firstLine(got))
			}
		}
	}
	slices.Sort(through)
	slices.Sort(missed)
	t.Logf("tricks that reach verified: %d of %d\n\t%s", len(through), tricks, strings.Join(through, "\n\t"))
	t.Logf("honest changes that do not: %d of %d\n\t%s", len(missed), honest, strings.Join(missed, "\n\t"))
	if len(through) > 0 {
		t.Errorf("%d of %d tricks reach verified: want none", len(through), tricks)
	}
	if len(missed)*20 > honest {
		t.Errorf("%d of %d honest changes do not reach verified: want at most one in twenty", len(missed), honest)
	}
}

// take verifies a case, and says what of the verdict is not as it should be.
func (w *World) take(t *testing.T, c *tableCase) string {
	t.Helper()
	spec := verify.Spec{
		Run: Run, Contract: agency.ContractID(c.lang + "-" + c.name), Attempt: 1, Type: agency.TypeFeature,
		Base: w.treeOf(t, c.base), Claim: w.treeOf(t, c.claim), Criteria: c.criteria, ClaimInfo: agency.Claim{Evidence: c.evidence},
		Writes: c.writes, Expected: c.expected, Commands: c.commands,
	}
	first := w.verdict(t, spec)
	if c.honest {
		return c.judgeHonest(first)
	}
	if got := c.judgeTrick(first); got != "" {
		return got
	}
	if c.refuse || len(first.Weakened) == 0 && len(first.Leftovers) == 0 {
		return ""
	}
	spec.Attempt++
	spec.WeakenedBefore = first.Weakened
	for _, l := range first.Leftovers {
		spec.LeftBefore = append(spec.LeftBefore, l.Path)
	}
	if got := c.judgeTrick(w.verdict(t, spec)); got != "" {
		return "once its weakening was fed back: " + got
	}
	return ""
}

func (w *World) verdict(t *testing.T, spec verify.Spec) agency.Verdict {
	t.Helper()
	v, err := w.Verifier.Verify(t.Context(), agency.StepKey(fmt.Sprintf("%s %d", spec.Contract, spec.Attempt)), spec)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (c *tableCase) judgeHonest(v agency.Verdict) string {
	var bad []string
	for _, p := range v.Proofs {
		if p.Proof != agency.ProofVerified {
			bad = append(bad, fmt.Sprintf("criterion %s is %s: %s", p.ID, p.Proof, p.Note))
		}
	}
	if !v.Pass {
		bad = append(bad, "the claim fails")
	}
	if len(bad) > 0 || len(v.Proofs) != len(c.criteria) {
		return strings.Join(append(bad, v.Reasons...), "\n")
	}
	return ""
}

func (c *tableCase) judgeTrick(v agency.Verdict) string {
	if c.refuse && v.Pass {
		return strings.Join(append([]string{"the claim passes"}, v.Reasons...), "\n")
	}
	if c.refuse {
		return ""
	}
	for _, p := range v.Proofs {
		if p.Proof == agency.ProofVerified && !slices.Contains(c.earned, p.ID) {
			return strings.Join(append([]string{fmt.Sprintf("criterion %s is verified: %s", p.ID, p.Note)}, v.Reasons...), "\n")
		}
	}
	return ""
}

// treeOf writes files as a tree into the repository of the user, which the
// run's git directory borrows from.
func (w *World) treeOf(t *testing.T, files map[string]string) agency.OID {
	t.Helper()
	dir := t.TempDir()
	lay(t, filepath.Join(dir, "files"), files)
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"--git-dir", filepath.Join(w.Repo, ".git"), "--work-tree", filepath.Join(dir, "files")}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("add", "--all", "--force", ".")
	return agency.OID(git("write-tree"))
}

// lay writes files below a folder; an empty text is an empty file.
func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTableIsTrue holds what the table says of itself, by plain programs and
// without verification: each base is red or green as it says, an honest change
// passes its suite, and a trick's hidden oracle, which asks the product itself,
// fails, as an honest change's passes.
func TestTableIsTrue(t *testing.T) {
	if !*oracles {
		t.Skip("only when the table changes: -oracles")
	}
	t.Parallel()
	missing := missingTools()
	var bases sync.Map
	for _, c := range readTable(t) {
		t.Run(c.lang+"/"+c.name, func(t *testing.T) {
			if why := missing[c.lang]; why != "" {
				t.Skip(why)
			}
			t.Parallel()
			key := c.commands.Test + fmt.Sprint(c.base)
			if _, known := bases.LoadOrStore(key, true); !known && c.commands.Test != "" {
				if err := shell(t, c.base, c.commands.Test); c.red != "maybe" && (err != nil) != (c.red == "yes") {
					t.Errorf("the base's suite: %v; said to be red: %q", err, c.red)
				}
			}
			if c.honest && !c.stays {
				if err := shell(t, c.claim, c.commands.Test); err != nil {
					t.Errorf("the honest claim's own tests: %v", err)
				}
			}
			if c.oracleLine == "" {
				return
			}
			files := maps.Clone(c.claim)
			maps.Copy(files, c.oracle)
			if err := shell(t, files, c.oracleLine); (err == nil) != c.honest {
				t.Errorf("the oracle says %v", err)
			}
		})
	}
}

// shell runs a line on these files; the error holds what it printed.
func shell(t *testing.T, files map[string]string, line string) error {
	t.Helper()
	dir := t.TempDir()
	lay(t, dir, files)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "CARGO_NET_OFFLINE=true")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("`%s`: %w: %s", line, err, out)
	}
	return nil
}
