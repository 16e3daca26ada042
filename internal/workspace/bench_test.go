package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"agency/internal/git/gittest"
)

// BenchmarkSnapshot compares a snapshot after one edit with what it is made
// of: `git add -A` and `git write-tree` with a kept index. The aim is a ratio
// of at most 1.2.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{500, 20000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := gittest.Init(b)
			for i := range n {
				gittest.WriteFiles(b, r.Dir, fmt.Sprintf("d%d/e%d/f%d.txt", i/200, i/20%10, i), fmt.Sprintf("file %d\n", i))
			}
			r.Commit("start")
			w := setup(b, r).work()
			snap(b, w)
			plain := filepath.Join(b.TempDir(), "plain")
			r.Git("clone", "-q", "--shared", r.Dir, plain)
			var ours, bare time.Duration
			for i := range b.N + 3 {
				text := fmt.Sprintf("edit %d\n", i)
				gittest.WriteFiles(b, w.Path(), "d0/e0/f1.txt", text)
				start := time.Now()
				snap(b, w)
				took := time.Since(start)
				gittest.WriteFiles(b, plain, "d0/e0/f1.txt", text)
				start = time.Now()
				for _, verb := range [][]string{{"add", "-A"}, {"write-tree"}} {
					cmd := exec.Command("git", verb...)
					cmd.Dir, cmd.Env = plain, []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}
					if out, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("%s", out)
					}
				}
				if i >= 3 { // warm
					ours += took
					bare += time.Since(start)
				}
			}
			b.ReportMetric(float64(ours)/float64(b.N)/1e6, "ms/snapshot")
			b.ReportMetric(float64(bare)/float64(b.N)/1e6, "ms/git")
			b.ReportMetric(float64(ours)/float64(bare), "ratio")
		})
	}
}
