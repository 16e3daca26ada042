package verify

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/check"
)

// changedLines is what a unified diff does to the new side of each file.
type changedLines struct {
	added map[string][]check.Lines
	// cutAt are the lines behind which old ones are gone, by file.
	cutAt map[string][]int
}

// linesOf reads a unified diff.
func linesOf(patch string) changedLines {
	out := changedLines{added: map[string][]check.Lines{}, cutAt: map[string][]int{}}
	file, at := "", 0
	was, now := 0, 0 // lines of the hunk still to come, of either side
	for line := range strings.Lines(patch) {
		switch inside := was > 0 || now > 0; {
		case !inside && strings.HasPrefix(line, "+++ "):
			file = strings.TrimSuffix(strings.TrimPrefix(strings.TrimRight(line, "\n"), "+++ b/"), "\t")
		case !inside && strings.HasPrefix(line, "@@ "):
			at, was, now = hunk(line)
		case inside && strings.HasPrefix(line, "+"):
			add(out.added, file, at)
			at, now = at+1, now-1
		case inside && strings.HasPrefix(line, "-"):
			if cuts := out.cutAt[file]; len(cuts) == 0 || cuts[len(cuts)-1] != at-1 {
				out.cutAt[file] = append(cuts, at-1)
			}
			was--
		case inside && strings.HasPrefix(line, " "):
			at, was, now = at+1, was-1, now-1
		}
	}
	return out
}

// hunk reads where a hunk begins in the new file, and how many lines it has on
// either side.
func hunk(head string) (at, was, now int) {
	side := func(text string) (from, n int) {
		if _, err := fmt.Sscanf(text[1:], "%d,%d", &from, &n); err != nil {
			n = 1 // "+7": one line
		}
		return from, n
	}
	f := strings.Fields(head)
	if len(f) < 3 {
		return 0, 0, 0
	}
	_, was = side(f[1])
	if at, now = side(f[2]); now == 0 { // nothing is left of it: it begins behind this line
		at++
	}
	return at, was, now
}

func add(out map[string][]check.Lines, file string, at int) {
	all := out[file]
	if n := len(all); n > 0 && all[n-1].To == at-1 {
		all[n-1].To = at
		return
	}
	out[file] = append(all, check.Lines{From: at, To: at})
}

// of are the single lines of a file that are added.
func (c changedLines) of(file string) (out []int) {
	for _, l := range c.added[file] {
		for n := l.From; n <= l.To; n++ {
			out = append(out, n)
		}
	}
	return out
}

// ranges writes lines as file:from-to, sorted.
func ranges(file string, lines []int) (out []string) {
	slices.Sort(lines)
	all := map[string][]check.Lines{}
	for _, n := range slices.Compact(lines) {
		add(all, file, n)
	}
	for _, l := range all[file] {
		if l.From == l.To {
			out = append(out, fmt.Sprintf("%s:%d", file, l.From))
		} else {
			out = append(out, fmt.Sprintf("%s:%d-%d", file, l.From, l.To))
		}
	}
	return out
}
