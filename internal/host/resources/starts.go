package resources

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/ecosystem"
)

// maxShells is how deep shells within shells are read.
const maxShells = 4

// starts tells whether a line of shell starts all that another one starts, wherever it stands
// in it: after a cd, by a shell that is given the file or the words, behind a program that
// starts others. Where a program lies counts for nothing, nor do arguments that the other
// line does not have. Lines that are no shell start nothing.
func starts(line, other string) bool {
	want := callsOf(other, 0)
	if len(want) == 0 {
		return false
	}
	have := callsOf(line, 0)
	return !slices.ContainsFunc(want, func(w []string) bool {
		return !slices.ContainsFunc(have, func(h []string) bool { return contains(h, w) })
	})
}

// contains tells whether a call is another one, perhaps with more arguments.
func contains(call, other []string) bool {
	if call[0] != other[0] {
		return false
	}
	rest := call[1:]
	for _, w := range other[1:] {
		at := slices.Index(rest, w)
		if at < 0 {
			return false
		}
		rest = rest[at+1:]
	}
	return true
}

// idle are words of a line that start nothing which anybody would count.
func idle(program string) bool {
	return slices.Contains([]string{"", "cd", "pushd", "popd", "export", "set", "unset", "true", "false", ":", "test", "[", "exit", "return"}, program)
}

// callsOf are the calls of a line, each as the name of what is started and its arguments.
func callsOf(line string, depth int) (out [][]string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil || depth > maxShells {
		return nil
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		s, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe && isBareShell(b.Y) {
			files, text := fed(b.X)
			out = append(out, files...)
			out = append(out, callsOf(text, depth+1)...)
		}
		c, ok := s.Cmd.(*syntax.CallExpr)
		if !ok || len(c.Args) == 0 {
			return true
		}
		words := wordsOf(c)
		call, inner := started(words)
		for _, r := range s.Redirs { // what a shell is given on its input
			switch {
			case len(call) > 0:
			case r.Hdoc != nil:
				inner = append(inner, ecosystem.WordText(r.Hdoc))
			case r.Op == syntax.RdrIn:
				call = []string{path.Base(ecosystem.WordText(r.Word))}
			case r.Op == syntax.WordHdoc:
				inner = append(inner, ecosystem.WordText(r.Word))
			}
		}
		for _, text := range inner {
			out = append(out, callsOf(text, depth+1)...)
		}
		if len(call) > 0 && !idle(call[0]) {
			out = append(out, call)
		}
		return true
	})
	return out
}

func wordsOf(c *syntax.CallExpr) []string {
	words := make([]string, len(c.Args))
	for i, a := range c.Args {
		words[i] = ecosystem.WordText(a)
	}
	return words
}

// isBareShell tells whether a statement is a shell that reads what it does from its input.
func isBareShell(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	call, lines := started(wordsOf(c))
	return len(call) == 0 && len(lines) == 0
}

// fed is what a statement hands to a shell behind it: files, each as a call, or a line.
func fed(s *syntax.Stmt) (files [][]string, line string) {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return nil, ""
	}
	words := wordsOf(c)
	switch path.Base(words[0]) {
	case "cat", "tac", "head", "tail":
		for _, w := range words[1:] {
			files = append(files, []string{path.Base(w)})
		}
	case "echo", "printf":
		line = strings.Join(words[1:], " ")
	}
	return files, line
}

// started is what a call starts behind the shells and the programs that only start others:
// itself, or lines of shell.
func started(words []string) (call, lines []string) {
	for len(words) > 0 {
		name := path.Base(words[0])
		switch {
		case isShell(name):
			at := 1
			for at < len(words) && strings.HasPrefix(words[at], "-") {
				if strings.HasSuffix(words[at], "c") && !strings.HasPrefix(words[at], "--") { // -c, -ec
					return nil, words[min(at+1, len(words)):min(at+2, len(words))]
				}
				at++
			}
			words = words[at:]
		case name == "eval":
			return nil, []string{strings.Join(words[1:], " ")}
		case startsOthers(name):
			words = words[1:]
			for len(words) > 0 && !isProgram(words[0]) {
				words = words[1:]
			}
		default:
			call = []string{name}
			for _, w := range words[1:] {
				call = append(call, strings.TrimPrefix(w, "./"))
			}
			return call, nil
		}
	}
	return nil, nil
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox", "source", "."}, name)
}

func startsOthers(name string) bool {
	return slices.Contains([]string{
		"env", "exec", "command", "builtin", "time", "timeout", "nice", "ionice", "nohup", "setsid", "stdbuf", "xargs", "sudo", "doas", "chrt", "taskset", "strace", "unbuffer",
	}, name)
}

// isProgram tells a program from the options and values of the one that starts it.
func isProgram(w string) bool {
	return w != "" && w[0] != '-' && w[0] != '+' && (w[0] < '0' || w[0] > '9') && !strings.Contains(w, "=")
}
