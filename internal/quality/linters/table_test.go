package linters

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"agency/internal/agency"
)

// eslintRules are those that ESLint recommends for security, where its plugin is there.
const eslintRules = `let more = [];
try { more = [require('eslint-plugin-security').configs.recommended]; } catch {}
try { more.push({ files: ['**/*.ts', '**/*.tsx'], languageOptions: { parser: require('typescript-eslint').parser } }); } catch {}
module.exports = [...more, { rules: {
  'no-eval': 'error', 'no-implied-eval': 'error', 'no-unreachable': 'error', 'no-self-compare': 'error', 'require-atomic-updates': 'error', 'no-unused-vars': 'warn',
} }];
`

// unused is what is true of every file of the table: nothing uses what it declares.
var unused = regexp.MustCompile(`^(?:U1000|unused|no-unused-vars) `)

// What the analyzers of this machine add to those that are built in: of the planted defects
// and the clean changes of the same table. It holds nothing but that what they print is read:
// which are here, and what they know, is the machine's.
func TestTable(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every analyzer that is installed on eighty files")
	}
	archive, err := txtar.ParseFile("../testdata/table.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	write := func(name, text string) {
		at := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module ex.com/p\n\ngo 1.22\n")
	write("eslint.config.js", eslintRules)
	said, failed := map[string]map[string]bool{}, map[string]int{} // files by analyzer
	for _, f := range archive.Files {
		write(f.Name, string(f.Data))
		if strings.Contains(f.Name, "/other/") {
			continue
		}
		c := Change{
			Files: []string{f.Name}, Read: func(p string) []byte { b, _ := os.ReadFile(filepath.Join(root, p)); return b },
			Names: func(dir string) []string { return map[string][]string{".": {"go.mod", "eslint.config.js"}}[dir] },
		}
		for _, call := range Plan(c) {
			if _, err := exec.LookPath(call.Program); err != nil {
				continue
			}
			if said[call.Analyzer] == nil {
				said[call.Analyzer] = map[string]bool{}
			}
			found, err := run(t.Context(), root, call)
			if err != nil {
				failed[call.Analyzer]++
				t.Logf("%s: %s: %v", f.Name, call.Analyzer, err)
			}
			for _, x := range found {
				if x.Severity != agency.IssueNitpick && !unused.MatchString(x.Rule+" "+x.Message) {
					said[call.Analyzer][f.Name] = true
				}
			}
		}
	}
	if len(said) == 0 {
		t.Skip("none is installed")
	}
	together := map[string]bool{}
	for _, a := range slices.Sorted(maps.Keys(said)) {
		t.Logf("%s: %s; of %d files it could not read the source", a, counted(said[a]), failed[a])
		maps.Copy(together, said[a])
	}
	t.Logf("together: %s", counted(together))
}

// counted says of how many planted and clean files something is told.
func counted(files map[string]bool) string {
	planted, clean := 0, []string{}
	for f := range files {
		if strings.HasPrefix(f, "planted/") {
			planted++
		} else {
			clean = append(clean, path.Dir(f))
		}
	}
	slices.Sort(clean)
	return fmt.Sprintf("%d of 40 planted found, alarms in %d of 40 clean %s", planted, len(clean), clean)
}

func run(ctx context.Context, root string, c Call) ([]agency.QualityFinding, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", c.Line())
	cmd.Dir = filepath.Join(root, c.Dir)
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	var last strings.Builder
	cmd.Stderr = &last
	out, _ := cmd.Output() // how it ended stands in its state
	lines := strings.Split(strings.TrimSpace(last.String()), "\n")
	return c.Read(Said{Out: out, Exit: cmd.ProcessState.ExitCode(), Last: lines[len(lines)-1], Root: root})
}
