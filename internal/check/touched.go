package check

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Part is one of the commands of a chain that belongs to a folder.
type Part struct {
	Dir  string // relative to the repository, "." for its root
	Line string // as it stands in the chain
}

// Parts parts a line that is a chain of commands, each in a folder of its own:
// `cmd && (cd web && cmd)`. Any other line is one part at the root.
func Parts(line string) []Part {
	whole := []Part{{Dir: ".", Line: line}}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) != 1 || file.Stmts[0].Negated || file.Stmts[0].Background {
		return whole
	}
	elements, _ := chain(file.Stmts[0])
	var out []Part
	for _, e := range elements {
		if e.Negated || e.Background {
			return whole
		}
		p := Part{Dir: ".", Line: line[e.Pos().Offset():e.End().Offset()]}
		switch c := e.Cmd.(type) {
		case *syntax.CallExpr:
			if len(c.Args) == 0 || wordText(c.Args[0]) == "cd" {
				return whole
			}
		case *syntax.Subshell:
			p.Dir = subshellDir(c)
		default:
			return whole
		}
		if p.Dir == unknownDir {
			return whole
		}
		out = append(out, p)
	}
	return out
}

func subshellDir(s *syntax.Subshell) string {
	if len(s.Stmts) != 1 {
		return unknownDir
	}
	elements, _ := chain(s.Stmts[0])
	first, ok := elements[0].Cmd.(*syntax.CallExpr)
	if !ok || len(elements) < 2 || len(first.Args) == 0 || wordText(first.Args[0]) != "cd" {
		return unknownDir
	}
	return changeDir(".", []string{"cd", wordText(first.Args[len(first.Args)-1])}, first)
}

// Touched is the line for the parts that a change of these paths touches: those
// in whose folder one of them lies and in no deeper part's. left are the
// folders of the parts that do not run. The whole line, and none left, where a
// path belongs to no part, such as a file at the root that any of them may read.
func Touched(line string, paths []string) (touched string, left []string) {
	parts := Parts(line)
	hit := make([]bool, len(parts))
	for _, p := range paths {
		deepest := ""
		for _, q := range parts {
			if q.Dir != "." && strings.HasPrefix(p, q.Dir+"/") && len(q.Dir) > len(deepest) {
				deepest = q.Dir
			}
		}
		if deepest == "" {
			return line, nil
		}
		for i, q := range parts {
			hit[i] = hit[i] || q.Dir == deepest
		}
	}
	var lines []string
	for i, p := range parts {
		if hit[i] {
			lines = append(lines, p.Line)
		} else if !slices.Contains(left, p.Dir) {
			left = append(left, p.Dir)
		}
	}
	if len(lines) == 0 || len(left) == 0 {
		return line, nil
	}
	return strings.Join(lines, " && "), left
}
