package git

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
)

// Stuck is a command that was ended because it waits for a pipe: git opens
// what bears the name of one of its own files, such as .gitignore, whatever it
// is, and opening a pipe that nobody writes to never returns.
type Stuck struct {
	Paths []string // below the work tree, with slashes
}

func (s *Stuck) Error() string {
	return fmt.Sprintf("%s is a pipe, which git would wait for", strings.Join(s.Paths, ", "))
}

// Unwrap classes a pipe as invalid.
func (s *Stuck) Unwrap() error {
	return agency.Errorf(agency.KindInvalid, "pipes among the files").WithMend("remove the pipes")
}

// stuckAfter is how long a command on files runs before it is suspected. The
// search costs what a walk over the files does and changes nothing, so a
// command that is merely slow goes on.
const stuckAfter = time.Second

// watchPipes ends a command on the work tree with *Stuck as its cause when the
// command waits for a pipe. The result must be called when the command ended.
func watchPipes(ctx context.Context, workTree string, end context.CancelCauseFunc) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTimer(stuckAfter)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
			if found := pipes(ctx, workTree); len(found) > 0 {
				end(&Stuck{Paths: found})
			}
		}
	}()
	return func() { cancel(); <-done }
}

// mostPipes bounds what an error names.
const mostPipes = 10

// pipes lists the pipes that git would open.
func pipes(ctx context.Context, workTree string) []string {
	var found []string
	_ = filepath.WalkDir(workTree, func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil || len(found) == mostPipes:
			return fs.SkipAll
		case err != nil:
			return nil // git cannot look there either
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type()&os.ModeNamedPipe != 0 && strings.HasPrefix(d.Name(), ".git"):
			if rel, err := filepath.Rel(workTree, p); err == nil {
				found = append(found, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	slices.Sort(found)
	return found
}
