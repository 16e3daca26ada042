package agency_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The packages of a release install and run, and two that build one commit in two places come
// to the same bytes.
func TestReleaseInstalls(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the program for two machines: left to the long run")
	}
	for _, tool := range []string{"dpkg", "dpkg-deb", "npm", "sha256sum", "tar"} {
		if _, err := exec.LookPath(tool); err != nil || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
			t.Skip("wants linux on amd64 with", tool)
		}
	}
	do := func(dir string, argv ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
		}
		return string(out)
	}
	dir := t.TempDir()
	var sums []string
	for _, name := range []string{"one", "two"} {
		do(".", "git", "clone", "-q", ".", filepath.Join(dir, name))
		do(filepath.Join(dir, name), ".ci/release", "1.2.3", filepath.Join(dir, name+"-out"), "https://example.org")
		text, err := os.ReadFile(filepath.Join(dir, name+"-out", "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(text))
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 8 {
		t.Errorf("built twice:\n%s%s", sums[0], sums[1])
	}
	out := filepath.Join(dir, "one-out")
	formula, err := os.ReadFile(filepath.Join(out, "agency.rb"))
	archive, _, _ := strings.Cut(sums[0], "  agency-1.2.3-linux-amd64.tar.gz\n")
	if err != nil || !strings.Contains(string(formula), archive[strings.LastIndex(archive, "\n")+1:]) {
		t.Errorf("%v: the formula has not the archive's sum:\n%s", err, formula)
	}
	root := filepath.Join(dir, "root")
	for _, d := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	do(dir, "dpkg", "--root="+root, "--force-not-root", "--force-depends", "-i", filepath.Join(out, "agency_1.2.3_amd64.deb"))
	do(dir, "npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", "--prefix", filepath.Join(dir, "npm"),
		filepath.Join(out, "agency-linux-x64-1.2.3.tgz"), filepath.Join(out, "agency-1.2.3.tgz"))
	do(dir, "tar", "-xzf", filepath.Join(out, "agency-1.2.3-linux-amd64.tar.gz"))
	for _, program := range []string{"root/usr/bin/agency", "npm/node_modules/.bin/agency", "agency-1.2.3/bin/agency"} {
		if said := do(dir, filepath.Join(dir, program), "version"); !strings.HasPrefix(said, "agency 1.2.3 (") {
			t.Errorf("%s: %s", program, said)
		}
	}
	for _, f := range []string{"man/man1/agency.1.gz", "bash-completion/completions/agency", "zsh/vendor-completions/_agency", "fish/vendor_completions.d/agency.fish"} {
		if info, err := os.Stat(filepath.Join(root, "usr/share", f)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", f, err)
		}
	}
}
