// Command bench measures the product against something measured in the same
// run, and prints one line a figure: name, ratio, aim, ok or short. A figure
// is the median of five rounds in which the contenders take turns.
//
// It is a module of its own, so that the peers are no dependency of the
// product.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"agency/bench/peer"
	"agency/internal/sandbox"
)

func main() {
	sandbox.Child()
	if len(os.Args) == 3 && os.Args[1] == contendVerb {
		os.Exit(contend(os.Args[2]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// rows are all that there are, in the order of the table.
func rows() []row {
	return []row{
		durableRow(), turnRow(), prefixRow(), tailRow(), followRow(), snapshotRow(), sandboxRow(), startRow(), watchRow(), inspectRow(), crowdRow(),
		mailRow(), backlogRow(), manyRow(), casRow(), executorRow(), tiersRow(), largeRow(), restartRow(), queueRow(), textmergeRow(), overseerRow(), patternRow(), growthRow(), advisingRow(), verifyRow(), questionsRow(), searchLargeRow(), bigRow(), demoRow(), demoAloneRow(), doneRow(),
	}
}

// contenders are the sides of a comparison that are this binary again.
func contenders() map[string]func(context.Context, peer.Job) (peer.Report, error) {
	return map[string]func(context.Context, peer.Job) (peer.Report, error){
		"ours": oursContender, "bare": bareContender, "bare-whole": bareWholeContender, "crowd": crowdContender,
		"executor": executorContender, "advising": advisingContender, "watch": watchContender, "done": doneContender,
	}
}

// bench is one run of the program.
type bench struct {
	n        int    // rounds
	dir      string // scratch
	profiles string // folder for CPU profiles of the contenders; empty: none
	short    bool
	long     bool
	verbose  bool
	strict   bool
	slack    float64
	wanted   *regexp.Regexp
	out, err io.Writer
}

func parse(args []string, out, errs io.Writer) (*bench, error) {
	b := &bench{out: out, err: errs}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errs)
	f.BoolVar(&b.short, "short", false, "only the cheap figures")
	f.BoolVar(&b.long, "long", false, "those, too, that take minutes")
	f.BoolVar(&b.verbose, "v", false, "show what was measured below each figure")
	f.BoolVar(&b.strict, "strict", false, "exit 1 where a figure is short")
	f.Float64Var(&b.slack, "slack", 0, "part of its aim by which -strict lets a figure be short, 0.2 say: how much a shared sync is worth is the disk's to decide")
	f.IntVar(&b.n, "rounds", 5, "how often each contender measures")
	f.StringVar(&b.dir, "dir", "", "folder for scratch files; its disk is what is measured (default: the system's folder for temporary files)")
	f.StringVar(&b.profiles, "profiles", "", "folder for CPU profiles of the contenders' last rounds")
	want := f.String("rows", "", "only figures whose name matches this regular expression")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 || b.n < 1 {
		f.Usage()
		return nil, flag.ErrHelp
	}
	var err error
	if b.wanted, err = regexp.Compile(*want); err != nil {
		return nil, fmt.Errorf("-rows: %w", err)
	}
	if b.profiles != "" {
		b.profiles, err = filepath.Abs(b.profiles)
	}
	return b, err
}

// run is the program. Exit code 2: bad flags; 1: a figure could not be
// measured, or is short under -strict.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	b, err := parse(args, out, errs)
	if err != nil {
		if err != flag.ErrHelp {
			say(errs, "bench: %v\n", err)
		}
		return 2
	}
	scratch, err := os.MkdirTemp(b.dir, "agency-bench-")
	if err != nil {
		say(errs, "bench: %v\n", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	b.dir = scratch
	if load := loadAverage(); load > float64(runtime.NumCPU())/2 {
		say(errs, "bench: the machine is busy (load %.1f on %d cores): figures are noisy\n", load, runtime.NumCPU())
	}
	code := 0
	for _, r := range rows() {
		if !b.wants(r) {
			continue
		}
		if !b.one(ctx, r) {
			code = 1
		}
	}
	return code
}

func (b *bench) wants(r row) bool {
	return (r.cheap || !b.short) && (b.long || !r.long) && slices.ContainsFunc(r.figures, b.wanted.MatchString)
}

// one measures a row and prints its figures. It tells whether all is well.
func (b *bench) one(ctx context.Context, r row) bool {
	figures, err := r.measure(ctx, b)
	if err != nil {
		say(b.out, "%-28s %8s %7s  not measured\n", strings.Join(r.figures, " "), "-", "-")
		say(b.err, "bench: %s: %v\n", r.figures[0], err)
		return false
	}
	well := true
	for _, f := range figures {
		if !b.wanted.MatchString(f.name) {
			continue
		}
		say(b.out, "%-28s %8.3f %7s  %s\n", f.name, f.ratio, f.aim, f.verdict())
		if b.verbose {
			for _, line := range f.raw {
				say(b.out, "    %s\n", line)
			}
		}
		well = well && (!b.strict || f.aim.within(f.ratio, b.slack))
	}
	return well
}

// loadAverage is that of the last minute, 0 where it is not to be had.
func loadAverage() (load float64) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	_, _ = fmt.Sscan(string(text), &load) // 0 stays
	return load
}

// say prints; where nobody reads there is nobody to tell.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// folder makes an empty scratch folder.
func (b *bench) folder() (string, error) { return os.MkdirTemp(b.dir, "") }
