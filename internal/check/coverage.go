package check

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/store"
)

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

// profile gathers which lines ran, by file.
type profile struct {
	lines map[string][]byte // by their numbers: nothing, lineMissed or lineRan
	room  int               // bytes that it may still grow
}

const (
	lineMissed = 1
	lineRan    = 2
)

// Bounds of what reports may name.
const (
	maxProfileLine = 1 << 20
	maxProfile     = 4 << 20 // lines of all files, and bytes of their names
)

func newProfile() *profile { return &profile{map[string][]byte{}, maxProfile} }

func (p *profile) hit(file string, line, count int) {
	if line < 1 || line > maxProfileLine || file == "" {
		return
	}
	of, known := p.lines[file]
	more := max(line+1-len(of), 0)
	if !known {
		more += len(file)
	}
	if more > p.room {
		return
	}
	p.room -= more
	if line >= len(of) {
		of = append(of, make([]byte, line+1-len(of))...)
		p.lines[strings.Clone(file)] = of
	}
	if count > 0 {
		of[line] = lineRan
	} else {
		of[line] = max(of[line], lineMissed)
	}
}

// files are the files of the checkout; what lies outside is left out.
func (p *profile) files() []FileCoverage {
	var out []FileCoverage
	for name, lines := range p.lines {
		if path.IsAbs(name) || strings.HasPrefix(name, "../") || thirdParty(name) {
			continue
		}
		f := FileCoverage{Path: name}
		for n, what := range lines {
			to := &f.Ran
			switch what {
			case 0:
				continue
			case lineMissed:
				to = &f.Missed
			}
			if k := len(*to); k > 0 && (*to)[k-1].To == n-1 {
				(*to)[k-1].To = n
			} else {
				*to = append(*to, Lines{n, n})
			}
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b FileCoverage) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func thirdParty(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), skipFolder)
}

// coverage reads what the runners measured.
func (r reader) coverage() []FileCoverage {
	root, err := os.OpenRoot(r.out)
	if err != nil || r.out == "" {
		return nil
	}
	defer func() { _ = root.Close() }() // only read
	p, left := newProfile(), &allowance{left: maxRead}
	at := func(c planned) paths {
		if c.dir == unknownDir {
			return paths{roots: r.roots}
		}
		return paths{roots: r.roots, dir: c.dir}
	}
	for i := range r.plan.goCalls {
		left.each(root, func(doc io.Reader) { p.goProfile(doc, newDeclaredTests(r.root).modules) }, fmt.Sprintf("go-%d.cover", i))
	}
	for i, c := range r.plan.calls {
		base := fmt.Sprintf("report-%d", i)
		left.each(root, func(doc io.Reader) { p.lcov(doc, at(c)) }, base+".lcov", base+"-cov/lcov.info")
		var asked []string
		for _, f := range c.lines {
			asked = append(asked, path.Join(c.dir, f))
		}
		p.v8(root, base+"-v8", r.root, at(c), asked)
	}
	if len(p.lines) == 0 && r.all {
		p.reports(r.root, left, paths{roots: r.roots, dir: "."})
	}
	return p.files()
}

// LastCoverage is that of the newest test run of a contract that measured it.
// KindNotFound where there is none.
func (c *Checker) LastCoverage(ctx context.Context, run agency.RunID, contract agency.ContractID) (files []FileCoverage, of agency.ReceiptID, err error) {
	err = c.o.DB.Read(ctx, func(q *store.Snapshot) error {
		rows, err := q.Query(selectReceipt+` WHERE run_id = ? AND contract_id = ? AND kind = ? ORDER BY n DESC LIMIT 50`,
			string(run), string(contract), string(agency.CheckTest))
		if err != nil {
			return err
		}
		receipts, details, err := scanDetails(rows, q)
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
	rows, err := q.Query(selectReceipt+` WHERE run_id = ? AND tree = ? AND kind = ? ORDER BY n`, string(run), string(tree), string(agency.CheckTest))
	if err != nil {
		return nil, err
	}
	receipts, details, err := scanDetails(rows, q)
	var best []FileCoverage
	most := -1
	for i, d := range details {
		if n := results(receipts[i]); len(d.Coverage) > 0 && n >= most {
			best, most = d.Coverage, n
		}
	}
	return best, err
}
