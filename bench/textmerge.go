package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"agency/internal/textmerge"
)

const mergesEach = 20 // a round

// textmergeRow merges a Go file of two thousand lines, to which both sides put
// a function and an import at one place and changed a function each: ours
// makes of it what git's merge of lines leaves in conflict.
func textmergeRow() row {
	return row{figures: []string{"queue/textmerge-vs-git"}, cheap: true, measure: func(ctx context.Context, b *bench) ([]figure, error) {
		dir, err := b.folder()
		if err != nil {
			return nil, err
		}
		base, ours, theirs := goFile("", ""), goFile("Ours", "os"), goFile("Theirs", "io")
		var files []string
		for i, text := range [][]byte{ours, base, theirs} {
			files = append(files, filepath.Join(dir, fmt.Sprint(i, ".go")))
			if err := os.WriteFile(files[i], text, 0o600); err != nil {
				return nil, err
			}
		}
		s, err := b.rounds(
			ctx,
			contender{"textmerge", func(context.Context) (float64, error) {
				begun := time.Now()
				for range mergesEach {
					if merged, err := textmerge.Merge("file.go", base, ours, theirs); err != nil || !bytes.Contains(merged, []byte("Theirs")) {
						return 0, fmt.Errorf("not merged: %w", err)
					}
				}
				return float64(time.Since(begun)), nil
			}},
			contender{"git merge-file", func(ctx context.Context) (float64, error) {
				begun := time.Now()
				for range mergesEach {
					err := exec.CommandContext(ctx, "git", append([]string{"merge-file", "-p", "--quiet"}, files...)...).Run()
					if conflict := (*exec.ExitError)(nil); !errors.As(err, &conflict) {
						return 0, fmt.Errorf("git merge-file does not conflict: %w", err)
					}
				}
				return float64(time.Since(begun)), nil
			}},
		)
		if err != nil {
			return nil, err
		}
		raw := []string{s.raw("textmerge", 1e6*mergesEach, "ms"), s.raw("git merge-file", 1e6*mergesEach, "ms")}
		return []figure{{"queue/textmerge-vs-git", s.ratio("textmerge", "git merge-file"), atMost(3), raw}}, nil
	}}
}

// goFile is a file in which one side has put a function and an import.
func goFile(name, imports string) []byte {
	var b bytes.Buffer
	b.WriteString("package file\n\nimport (\n\t\"fmt\"\n")
	if imports != "" {
		fmt.Fprintf(&b, "\t%q\n", imports)
	}
	b.WriteString(")\n")
	for i := range 400 {
		fmt.Fprintf(&b, "\n// F%d says %d.\nfunc F%d() string {\n\treturn fmt.Sprint(%d)\n}\n", i, i, i, i)
	}
	if name != "" {
		fmt.Fprintf(&b, "\n// %s is new.\nfunc %s() string {\n\treturn fmt.Sprint(%q)\n}\n", name, name, imports)
	}
	return b.Bytes()
}
