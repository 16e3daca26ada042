package code

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"agency/internal/regexp"
)

// Cut is how a body is taken out.
type Cut string

// The cuts. What zero and other are is a matter of the results' types as they
// are written; a cut that they do not allow panics. Generators have no other.
const (
	CutPanic Cut = "panic" // panics, raises, throws
	CutZero  Cut = "zero"  // returns the zero value: 0, "", false, nil, null, None, undefined
	CutThere Cut = "there" // as zero, but present where the result is optional: Some(0), Ok(0), 0 with true
	CutOther Cut = "other" // returns something else: 1, "taken out", true, an error, 0 where no type is written; zero where there is nothing else
)

// SwitchedFunction is a function that gets a switch, and the id by which it is
// cut: letters, digits and any of _.:/#-.
type SwitchedFunction struct {
	Function
	ID string
}

// Switched is a source with switches in it.
type Switched struct {
	Source  []byte
	Skipped []Skipped // those that got none, in order
}

// Skipped is a function that cannot be switched, and why.
type Skipped struct{ ID, Why string }

var (
	plainID  = regexp.MustCompile(`^[\w.:/#-]+$`)
	plainEnv = regexp.MustCompile(`^[A-Za-z_]\w*$`)
)

// Switch puts switches in front of the bodies of these functions, which are of
// this very source. Where the environment variable env of the process holds a
// cut, a colon, and the function's id or *, the function does what the cut says;
// else what it always did. The path must be the one that the source is compiled
// from: names are made of it, so that two files of a package do not meet.
func (e *Engine) Switch(ctx context.Context, path string, src []byte, cuts []SwitchedFunction, env string) (Switched, error) {
	if !plainEnv.MatchString(env) {
		return Switched{}, fmt.Errorf("%q is no name of an environment variable", env)
	}
	for _, c := range cuts {
		if !plainID.MatchString(c.ID) {
			return Switched{}, fmt.Errorf("%q is no id of a switched function: use letters, digits and _.:/#-", c.ID)
		}
	}
	f, err := e.read(ctx, path, src)
	if err != nil {
		return Switched{}, err
	}
	fns, broken := f.functions()
	listed := map[Function]bool{}
	for _, fn := range fns {
		listed[fn] = true
	}
	for _, c := range cuts {
		if !listed[c.Function] {
			return Switched{}, fmt.Errorf("%s has no function %q at line %d: list its functions anew", path, c.Name, c.FromLine)
		}
	}
	out, err := f.switched(cuts, namesOf(path, env))
	if err != nil || broken {
		return out, err
	}
	after, err := e.read(ctx, path, out.Source)
	if err != nil {
		return Switched{}, err
	}
	if _, broken := after.functions(); broken {
		return Switched{}, fmt.Errorf("%s: the switches do not fit its syntax", path)
	}
	return out, nil
}

// switchNames are what the inserted text uses.
type switchNames struct {
	env  string
	mark string // makes the file's names its own
}

func namesOf(path, env string) switchNames {
	sum := sha256.Sum256([]byte(env + "\x00" + path))
	return switchNames{env: env, mark: fmt.Sprintf("%x", sum[:5])}
}

// fn is the name of the function that the inserted text asks.
func (n switchNames) fn() string { return "agencyCut_" + n.mark }

// request is a function to be switched, in a tree.
type request struct {
	found
	id string
}

// Modes of a switch: what a cut that is not panic does.
const (
	modeAll   = iota // zero, there and other differ
	modeZero         // other panics
	modePanic        // both panic
	modeNever        // all return zero, panic too
)

// edit is a change of a text: what is put in the place of bytes.
type edit struct {
	at, end int
	text    string
}

// apply changes a text. Of what is inserted at one place the first given comes
// first.
func apply(src []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.at - b.at })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.at > at {
			out.Write(src[at:e.at])
		}
		out.WriteString(e.text)
		at = max(at, e.at, e.end)
	}
	out.Write(src[at:])
	return out.Bytes()
}

func (f *treeFile) switched(cuts []SwitchedFunction, n switchNames) (Switched, error) {
	ids := map[Function]string{}
	for _, c := range cuts {
		ids[c.Function] = c.ID
	}
	var asked []request
	var skipped []Skipped
	for _, x := range f.dialect.functions(f.tree) {
		switch id, ok := ids[x.Function]; {
		case !ok:
		case x.Test:
			skipped = append(skipped, Skipped{id, "a test"})
		default:
			asked = append(asked, request{x, id})
		}
	}
	out := Switched{Source: slices.Clone(f.src), Skipped: skipped}
	if len(asked) == 0 {
		return out, nil
	}
	edits, more := f.dialect.switches(f.tree, asked, n)
	out.Skipped = append(out.Skipped, more...)
	if len(more) < len(asked) {
		out.Source = apply(f.src, edits)
	}
	return out, nil
}

// epilogue is an edit that appends text to a file, on lines of its own.
func epilogue(src []byte, text string) edit {
	if len(src) > 0 && src[len(src)-1] != '\n' {
		text = "\n" + text
	}
	return edit{at: len(src), end: len(src), text: text}
}
