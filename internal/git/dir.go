package git

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// Dir is a git directory with what a command is to use of it. It is a value:
// the With methods give changed copies.
type Dir struct {
	program *Program
	// GitDir is the git directory, absolute.
	GitDir string
	// WorkTree is the folder of files, or "" where no command touches files.
	WorkTree string
	// IndexFile is the index; empty: GitDir's own.
	IndexFile string

	objects string
	config  []string
	user    bool
	foreign bool   // the work tree may change under a command
	common  string // of a user's repository
	// alone makes sure before each command that nobody else is at work on the work
	// tree; nil: nobody can be.
	alone func(context.Context) error
}

// living is a user's repository as far as it is still there: a linked worktree
// may have been deleted, and pruned, while branches and objects live on.
func (d Dir) living() Dir {
	if !d.user {
		return d
	}
	if _, err := os.Stat(d.WorkTree); err != nil {
		d.WorkTree = ""
	}
	if _, err := os.Stat(d.GitDir); err != nil && d.common != "" {
		d.GitDir = d.common
	}
	return d
}

// WithWorkTree is the directory with another work tree and index.
func (d Dir) WithWorkTree(workTree, index string) Dir {
	d.WorkTree, d.IndexFile = workTree, index
	return d
}

// WithObjects is the directory writing its objects elsewhere: into the folder
// of objects of another repository.
func (d Dir) WithObjects(objects string) Dir {
	d.objects = objects
	return d
}

// WithConfig is the directory with further key=value settings.
func (d Dir) WithConfig(kv ...string) Dir {
	d.config = append(d.config[:len(d.config):len(d.config)], kv...)
	return d
}

// Program is the git command that the directory is used with.
func (d Dir) Program() *Program { return d.program }

// Objects are the repository's blobs and trees.
func (d Dir) Objects() Objects { return Objects{d} }

// Commits are its commits.
func (d Dir) Commits() Commits { return Commits{d} }

// Diff compares what it holds.
func (d Dir) Diff() Diff { return Diff{d} }

// Refs are its branches and other refs.
func (d Dir) Refs() Refs { return Refs{d} }

// Index is the index of the directory.
func (d Dir) Index() Index { return Index{d} }

// Files are those of the work tree.
func (d Dir) Files() Files { return Files{d} }

// Transfer sends its objects elsewhere.
func (d Dir) Transfer() Transfer { return Transfer{d} }

func (d Dir) workingDir() string {
	if d.WorkTree != "" {
		return d.WorkTree
	}
	return d.GitDir
}

// env names everything explicitly: git never discovers, and core.worktree and
// core.bare of a configuration never decide.
func (d Dir) env() []string {
	tree := d.WorkTree
	if tree == "" {
		tree = d.GitDir
	}
	env := []string{"GIT_DIR=" + d.GitDir, "GIT_WORK_TREE=" + tree}
	if d.IndexFile != "" {
		env = append(env, "GIT_INDEX_FILE="+d.IndexFile)
	}
	if d.objects != "" {
		env = append(env, "GIT_OBJECT_DIRECTORY="+d.objects)
	}
	return env
}

func (d Dir) run(ctx context.Context, args ...string) ([]byte, error) {
	return d.program.run(ctx, command{dir: &d, args: args})
}

// answered asks about an object once: what an object is never changes, and a directory of
// ours loses none while it is used.
func (d Dir) answered(what string, id agency.OID, ask func() (string, error)) (string, error) {
	if d.user {
		return ask()
	}
	key := d.question(what, string(id))
	if got, ok := d.program.answers.get(key); ok {
		return got, nil
	}
	got, err := ask()
	if err == nil {
		d.program.answers.put(key, got)
	}
	return got, err
}

// wrote keeps what nobody need ask about an object that was just written: its type, and
// its tree.
func (d Dir) wrote(kind string, id, tree agency.OID) {
	d.program.answers.put(d.question("type", string(id)), kind)
	d.program.answers.put(d.question("tree", string(id)), string(tree))
}

func (d Dir) question(words ...string) string {
	return strings.Join(slices.Concat([]string{d.GitDir, d.objects}, d.config, words), "\x00")
}

// answers are what was said of objects lately.
type answers struct {
	mu   sync.Mutex
	of   map[string]string
	size int
}

// answersMost bounds what is kept, answerMost one answer, in bytes.
const answersMost, answerMost = 4 << 20, 64 << 10

func (a *answers) get(key string) (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	got, ok := a.of[key]
	return got, ok
}

func (a *answers) put(key, got string) {
	if len(got) > answerMost {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.size += len(key) + len(got); a.of == nil || a.size > answersMost {
		a.of, a.size = map[string]string{}, len(key)+len(got)
	}
	a.of[key] = got
}

// paths lists the names that a command writes, those before an error beside it.
func (d Dir) paths(ctx context.Context, args ...string) ([]string, error) {
	out, err := d.run(ctx, args...)
	return fields(out), err
}

// stream runs a command whose output goes to w as it comes. An error of w ends
// the command and is the error.
func (d Dir) stream(ctx context.Context, w io.Writer, args ...string) error {
	return d.streamed(ctx, w, command{args: args})
}

func (d Dir) streamed(ctx context.Context, w io.Writer, c command) error {
	to := &sink{w: w}
	c.dir, c.stdout = &d, to
	_, err := d.program.run(ctx, c)
	if to.err != nil {
		return to.err
	}
	return err
}

// sink remembers why it took no more.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// write runs a command that writes the work tree.
func (d Dir) write(ctx context.Context, in io.Reader, args ...string) error {
	_, err := d.program.run(ctx, command{dir: &d, args: args, stdin: in, toTree: true})
	return err
}

func (d Dir) feed(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	return d.program.run(ctx, command{dir: &d, args: args, stdin: in})
}

var oidForm = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// checkOID refuses what is not a full object id, so that nothing from outside
// is ever parsed as a revision or an option.
func checkOID(ids ...agency.OID) error {
	for _, id := range ids {
		if !oidForm.MatchString(string(id)) {
			return agency.Errorf(agency.KindInvalid, "%q is not a full object id", id)
		}
	}
	return nil
}

func parseOID(out []byte) (agency.OID, error) {
	id := agency.OID(bytes.TrimSpace(out))
	return id, checkOID(id)
}

// fields splits NUL-terminated output.
func fields(out []byte) []string {
	s := strings.TrimSuffix(string(out), "\x00")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\x00")
}

// lines is a reader of NUL-terminated items.
func lines(items []string) io.Reader {
	var b bytes.Buffer
	for _, it := range items {
		b.WriteString(it)
		b.WriteByte(0)
	}
	return &b
}
