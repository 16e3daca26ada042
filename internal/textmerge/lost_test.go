package textmerge_test

import (
	"testing"

	"agency/internal/textmerge"

	"github.com/google/go-cmp/cmp"
)

func TestLost(t *testing.T) {
	const base = "func total(items) {\n  let sum = 0;\n  for (const i of items) sum += i.price;\n  return sum;\n}\n"
	const rounds = "func total(items) {\n  let sum = 0;\n  for (const i of items) sum += Math.round(i.price);\n  return sum;\n}\n"
	tests := map[string]struct {
		base, side, result string
		want               []string
		other              string // empty: as base
	}{
		"both in one line": {base, rounds, "func total(items) {\n  let sum = 0;\n  for (const i of items) sum += Math.round(i.price) * i.qty;\n  return sum;\n}\n", nil, ""},
		"as it was":        {base, rounds, rounds, nil, ""},
		"indented anew":    {base, rounds, "func total(items) {\n\tfor (const i of items) sum += Math.round(i.price);\n}\n", nil, ""},
		"dropped": {
			base, rounds, "func total(items) {\n  let sum = 0;\n  for (const i of items) sum += i.price * i.qty;\n  return sum;\n}\n",
			[]string{"for (const i of items) sum += Math.round(i.price);"},
			"",
		},
		"undone": {
			base, rounds, base + "var more;\n",
			[]string{"for (const i of items) sum += Math.round(i.price);", "- for (const i of items) sum += i.price;"},
			"",
		},
		"common words of others": {
			"func f() {\n\tuse(a)\n}\n", "func f() {\n\tif err := check(a); err != nil { return err }\n\tuse(a)\n}\n",
			"func f() {\n\tuse(a)\n\tif err := store(a); err != nil { return err }\n}\n",
			[]string{"if err := check(a); err != nil { return err }"},
			"func f() {\n\tuse(a)\n\tif err := store(a); err != nil { return err }\n}\n",
		},
		"words of the resolver elsewhere": {
			"a\nb\nc\nd\n", "a\nretry(policy, limit, backoff)\nb\nc\nd\n", "a\nb\nc\nlog(policy, limits)\nd\n",
			[]string{"retry(policy, limit, backoff)"},
			"",
		},
		"no words of its own, elsewhere": {
			"one two\nx\ny\ntwo three\n", "one two\ntwo one\nx\ny\ntwo three\n", "one two\nx\ny\nthree one two\n",
			[]string{"two one"},
			"",
		},
		"no words of its own, in its place": {"one two\nx\n", "one two\ntwo one\nx\n", "one two\n(two, one)\nx\n", nil, ""},
		"one of two alike": {
			"x\n", "lock(m)\nx\nlock(m)\n", "lock(m)\nx\n", []string{"lock(m)"}, "",
		},
		"removed by the other":      {"p\nlog(m)\nx\n", "p\nlog(m)\nx\nlog(m)\n", "p\nx\nlog(m)\n", nil, "p\nx\n"},
		"an operator undone":        {"return a - b\n", "return a + b\n", "return a - b // of both\n", nil, ""},
		"an operator put back":      {"return a - b\n", "return a + b\n", "log()\nreturn a - b\n", []string{"- return a - b"}, ""},
		"a number":                  {"x = 30\n", "x = 60\n", "x = 30\ny = 1\n", []string{"x = 60", "- x = 30"}, ""},
		"renamed by the other":      {"a\nb\n", "a\nlog(price, when)\nb\n", "a\nlog(cost, when)\nb\n", nil, ""},
		"what base has elsewhere":   {"return nil\n}\nx\n", "return nil\n}\nx\nreturn nil\n}\n", "y\n", []string{"return nil"}, ""},
		"a deletion that came back": {"keep\nold(1)\n", "keep\n", "keep\nnew(2)\nold(1)\n", []string{"- old(1)"}, ""},
		"a file that is gone":       {"a\n", "a\nb c\n", "", []string{"b c"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			other := tt.other
			if other == "" {
				other = tt.base
			}
			got := textmerge.Lost([]byte(tt.base), []byte(tt.side), []byte(other), []byte(tt.result))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMarked(t *testing.T) {
	const marks = "a\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n"
	if !textmerge.Marked([]byte(marks), []byte("a\nx\n"), nil) {
		t.Error("marks are not seen")
	}
	if textmerge.Marked([]byte(marks), []byte("of git:\n"+marks)) {
		t.Error("marks that the file had are taken for new ones")
	}
	if textmerge.Marked([]byte("Title\n=======\n>>>>>>> quoted\n")) {
		t.Error("an underline is no mark")
	}
}

func TestAlone(t *testing.T) {
	const base = "a\nsum(x)\nb\nc\nd\n"
	const ours = "a\nsum(x, y)\nb\nc\nours\nd\n"
	const theirs = "a\nsum(round(x))\nb\nc\nd\ntheirs\n"
	tests := map[string]struct {
		base, ours, theirs, result string
		want                       []string
	}{
		"both":                  {base, ours, theirs, "a\nsum(round(x), y)\nb\nc\nours\nd\ntheirs\n", nil},
		"ours whole":            {base, ours, theirs, ours, []string{"as the work had it before, without sum(round(x))"}},
		"theirs whole":          {base, ours, theirs, theirs, []string{"as it had landed, without sum(x, y)"}},
		"ours where both did":   {base, ours, theirs, "a\nsum(x, y)\nb\nc\nours\nd\ntheirs\n", []string{"there as the work had it before, without sum(round(x))"}},
		"theirs where both did": {base, ours, theirs, "a\nsum(round(x))\nb\nc\nours\nd\ntheirs\n", []string{"there as it had landed, without sum(x, y)"}},
		"one holds the other":   {"a\n", "a\nx\ny\n", "a\nx\n", "a\nx\ny\n", nil},
		"both the same":         {"a\n", "a\nx\n", "a\nx\n", "a\nx\n", nil},
		"one side did nothing":  {"a\n", "a\n", "a\nx\n", "a\nx\n", nil},
		"a file that goes":      {"a\n", "a\nx\n", "", "", []string{"as it had landed, without x"}},
		"a deletion undone":     {"a\nold\nb\n", "a\nold\nnew\nb\n", "a\nb\n", "a\nold\nnew\nb\n", []string{"as the work had it before, without - old"}},
		"indented anew":         {"f\n", "f\n  x\n", "f\n  y\n", "f\nx\n", []string{"as the work had it before, without y"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := textmerge.Alone([]byte(tt.base), []byte(tt.ours), []byte(tt.theirs), []byte(tt.result))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
