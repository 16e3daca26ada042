package check

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/ecosystem"
	"agency/internal/store"
	"agency/internal/testreport"
)

// plan is a line as it is run: with every runner in it asked for the names of
// its tests, and where the answers will be.
type plan struct {
	line   string
	direct []planned // that answer by what they print
	calls  []planned
}

// planned is a call that answers by files whose names begin with base.
type planned struct {
	call
	base  string
	files map[string][]byte // that it loads, by their paths
	lines []string          // files whose lines are found out in passing, relative to the call
}

// asked tells whether anything of the line is not the user's own.
func (p plan) asked() bool { return len(p.direct)+len(p.calls) > 0 }

// makePlan asks the runners of a line for their tests. out is the folder for
// their reports; empty: only runners that answer on standard output are asked.
// Everything else stays as it is, byte for byte.
func makePlan(line string, repo ecosystem.Repo, out string, cover ecosystem.Measure) plan {
	var p plan
	var edits []ecosystem.Edit
	ask := func(c call, base string) (planned, bool) {
		q := ecosystem.Query{Measure: cover, Repo: repo}
		if out != "" {
			q.Lib, q.Base = filepath.Join(out, libDir), filepath.Join(out, base)
		}
		asked, ok := c.runner.Ask(c.Call, q)
		if ok {
			edits = append(edits, asked.Edits...)
		}
		return planned{c, q.Base, asked.Files, asked.Lines}, ok
	}
	calls := findCalls(line, repo)
	for i, c := range directly(calls, true) {
		program, _, _ := strings.Cut(c.runner.Name, " ")
		if asked, ok := ask(c, fmt.Sprintf("%s-%d", program, i)); ok {
			p.direct = append(p.direct, asked)
		}
	}
	for i, c := range directly(calls, false) {
		if out == "" {
			break
		}
		if asked, ok := ask(c, fmt.Sprintf("report-%d", i)); ok {
			p.calls = append(p.calls, asked)
		}
	}
	if len(p.calls)+len(p.direct) > 1 {
		edits = append(edits, runAll(line, repo)...)
	}
	p.line = apply(line, edits)
	return p
}

// Covers tells whether a test command may say which lines its tests reach: a runner in it is
// asked for that, or the line itself speaks of it.
func Covers(line string, repo fs.FS) bool {
	return strings.Contains(strings.ToLower(line), "cov") ||
		slices.ContainsFunc(findCalls(line, ecosystem.Repo{FS: repo}), func(c call) bool { return c.runner.Coverage != nil })
}

// libDir is the folder, in that for reports, of what calls load.
const libDir = "lib"

func apply(line string, edits []ecosystem.Edit) string {
	slices.SortStableFunc(edits, func(a, b ecosystem.Edit) int { return a.From - b.From })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if e.From < at {
			continue
		}
		b.WriteString(line[at:e.From])
		b.WriteString(e.Text)
		at = e.To
	}
	b.WriteString(line[at:])
	return b.String()
}

// runAll lets every test command of a chain run, also after one that failed:
// otherwise the tests of the others would look deleted. The exit code is that
// of the last one that failed.
func runAll(line string, repo ecosystem.Repo) []ecosystem.Edit {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) != 1 || file.Stmts[0].Negated || file.Stmts[0].Background {
		return nil
	}
	elements, ops := chain(file.Stmts[0])
	f := finder{repo: repo, line: line}
	for _, e := range elements {
		if !f.onlyTests(e, position{dir: "."}) {
			return nil
		}
	}
	var edits []ecosystem.Edit
	for _, at := range ops {
		edits = append(edits, ecosystem.Edit{From: int(at), To: int(at) + 2, Text: "|| agency_rc=$?;"})
	}
	return append(edits, ecosystem.Insert(int(file.Stmts[0].End().Offset()), " || agency_rc=$?; exit ${agency_rc:-0}"))
}

// chain parts `a && b && c`.
func chain(s *syntax.Stmt) (elements []*syntax.Stmt, ops []uint) {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok || b.Op != syntax.AndStmt {
		return []*syntax.Stmt{s}, nil
	}
	left, leftOps := chain(b.X)
	right, rightOps := chain(b.Y)
	return append(left, right...), append(append(leftOps, b.OpPos.Offset()), rightOps...)
}

// onlyTests tells whether a statement is one call of a runner, or a subshell
// that changes the folder and makes one.
func (f *finder) onlyTests(s *syntax.Stmt, at position) bool {
	if s.Background || s.Negated || len(s.Redirs) > 0 {
		return false
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		n := len(f.calls)
		f.call(s, c, at)
		return len(f.calls) > n
	case *syntax.Subshell:
		if len(c.Stmts) != 1 {
			return false
		}
		elements, _ := chain(c.Stmts[0])
		for i, e := range elements {
			call, ok := e.Cmd.(*syntax.CallExpr)
			if ok && i+1 < len(elements) && len(call.Args) > 0 && ecosystem.WordText(call.Args[0]) == "cd" {
				at = f.call(e, call, at)
				continue
			}
			if i+1 < len(elements) || !f.onlyTests(e, at) {
				return false
			}
		}
		return true
	}
	return false
}

// writeReporters puts what the calls load into the folder for their reports.
func (p plan) writeReporters(out string) error {
	if len(p.calls) == 0 {
		return nil
	}
	lib := filepath.Join(out, libDir)
	if err := os.Mkdir(lib, 0o755); err != nil {
		return err
	}
	for _, c := range p.calls {
		for name, text := range c.files {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lines are lines From to To of a file, counted from 1.
type Lines struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// FileCoverage is what the tests of a receipt reached in one file. Lines that
// hold nothing to run are in neither list.
type FileCoverage struct {
	Path   string  `json:"path"` // relative to the repository
	Ran    []Lines `json:"ran,omitempty"`
	Missed []Lines `json:"missed,omitempty"`
}

// Counts are how many of the lines that can run did.
func (f FileCoverage) Counts() (ran, all int) {
	for _, l := range f.Ran {
		ran += l.To - l.From + 1
	}
	all = ran
	for _, l := range f.Missed {
		all += l.To - l.From + 1
	}
	return ran, all
}

// maxMissed is how many stretches of missed lines are named.
const maxMissed = 50

// OfChange is the coverage of the changed lines, which are given by file.
func OfChange(files []FileCoverage, changed map[string][]Lines) agency.Coverage {
	var out agency.Coverage
	for _, f := range files {
		for _, c := range changed[f.Path] {
			out.Covered += overlap(f.Ran, c, nil)
			out.Lines += overlap(f.Missed, c, func(l Lines) {
				if len(out.Missed) < maxMissed {
					out.Missed = append(out.Missed, f.Path+":"+l.String())
				}
			})
		}
	}
	out.Lines += out.Covered
	return out
}

// String is N or N-M.
func (l Lines) String() string {
	if l.From == l.To {
		return fmt.Sprint(l.From)
	}
	return fmt.Sprintf("%d-%d", l.From, l.To)
}

func overlap(all []Lines, in Lines, each func(Lines)) (n int) {
	for _, l := range all {
		if from, to := max(l.From, in.From), min(l.To, in.To); from <= to {
			n += to - from + 1
			if each != nil {
				each(Lines{from, to})
			}
		}
	}
	return n
}

// filesOf are the files of the checkout in a profile; what lies outside is left out.
func filesOf(p *testreport.Profile) []FileCoverage {
	files := map[string]*FileCoverage{}
	inside := func(name string) bool {
		return !path.IsAbs(name) && !strings.HasPrefix(name, "../") && !ecosystem.InOthersFolder(name)
	}
	whole := p.Stretches(inside, func(name string, ran bool, from, to int) {
		f := files[name]
		if f == nil {
			f = &FileCoverage{Path: name}
			files[name] = f
		}
		if ran {
			f.Ran = append(f.Ran, Lines{from, to})
		} else {
			f.Missed = append(f.Missed, Lines{from, to})
		}
	})
	if !whole {
		return nil
	}
	var out []FileCoverage
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, *files[name])
	}
	return out
}

// coverage reads what the runners measured: nothing of it, and why, where not
// all could be read.
func (r reader) coverage() (files []FileCoverage, why string) {
	root, err := os.OpenRoot(r.out)
	if err != nil || r.out == "" {
		return nil, ""
	}
	defer func() { _ = root.Close() }() // only read
	left := testreport.NewAllowance(maxRead, r.left.Each, r.left.All)
	defer left.Start()()
	p := testreport.NewProfile(left)
	for _, c := range slices.Concat(r.plan.direct, r.plan.calls) {
		if c.runner.Coverage == nil {
			continue
		}
		m := ecosystem.Measured{Profile: p, At: r.at(c), Repo: r.root}
		for _, f := range c.lines {
			m.Asked = append(m.Asked, path.Join(c.Dir, f))
		}
		m.Each = func(end string, most int, read func(io.Reader)) int {
			names, err := fs.Glob(bounded.FS(root), filepath.Base(c.base)+end)
			if err != nil || len(names) > most {
				left.Refuse("has more than %d files", most)
				return -1
			}
			left.EachOf(root, read, names...)
			return len(names)
		}
		c.runner.Coverage(m)
	}
	if p.Empty() && r.all {
		ownReports(p, r.root, left, testreport.Paths{Roots: r.roots, Dir: "."})
	}
	if files = filesOf(p); left.Why != "" {
		files = nil
	}
	return files, left.Why
}

// LastCoverage is that of the newest test run of a contract that measured it.
// KindNotFound where there is none.
func (c *receiptStore) LastCoverage(ctx context.Context, run agency.RunID, contract agency.ContractID) (files []FileCoverage, of agency.ReceiptID, err error) {
	err = c.db.Read(ctx, func(q *store.Snapshot) error {
		receipts, details, err := detailed(q, selectNewest, string(run), string(contract), string(agency.CheckTest))
		for i, d := range details {
			if len(d.Coverage) > 0 {
				files, of = d.Coverage, receipts[i].ID
				break
			}
		}
		return err
	})
	if err == nil && files == nil {
		err = agency.Errorf(agency.KindNotFound, "no test run of this contract has measured coverage yet; run_tests_with_coverage does, where it is offered")
	}
	return files, of, err
}

// Covered is what the tests of a tree reach: by the receipt with most results
// among those of a run that measured it. nil: none did.
func Covered(q Reader, run agency.RunID, tree agency.OID) ([]FileCoverage, error) {
	receipts, details, err := detailed(q, selectOfTree, string(run), string(tree), string(agency.CheckTest))
	var best []FileCoverage
	most := -1
	for i, d := range details {
		if n := results(receipts[i]); len(d.Coverage) > 0 && n >= most {
			best, most = d.Coverage, n
		}
	}
	return best, err
}

// ownReports reads what a command of the user's own leaves where such tools put it.
func ownReports(p *testreport.Profile, checkout *os.Root, left *testreport.Allowance, at testreport.Paths) {
	left.EachOf(checkout, func(doc io.Reader) { p.ReadLCOV(doc, at) }, "lcov.info", "coverage/lcov.info", "target/llvm-cov/lcov.info")
	left.EachOf(checkout, func(doc io.Reader) {
		_ = p.ReadCobertura(doc, at) // another kind of XML has no lines
	}, "coverage.xml", "cobertura.xml", "coverage/cobertura-coverage.xml")
}
