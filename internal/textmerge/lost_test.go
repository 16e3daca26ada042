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
	}{
		"both in one line": {base, rounds, "func total(items) {\n  let sum = 0;\n  for (const i of items) sum += Math.round(i.price) * i.qty;\n  return sum;\n}\n", nil},
		"as it was":        {base, rounds, rounds, nil},
		"indented anew":    {base, rounds, "func total(items) {\n\tfor (const i of items) sum += Math.round(i.price);\n}\n", nil},
		"dropped": {
			base, rounds, "func total(items) {\n  let sum = 0;\n  for (const i of items) sum += i.price * i.qty;\n  return sum;\n}\n",
			[]string{"for (const i of items) sum += Math.round(i.price);"},
		},
		"undone": {
			base, rounds, base + "var more;\n",
			[]string{"for (const i of items) sum += Math.round(i.price);", "- for (const i of items) sum += i.price;"},
		},
		"an operator undone":        {"return a - b\n", "return a + b\n", "return a - b // of both\n", nil},
		"an operator put back":      {"return a - b\n", "return a + b\n", "log()\nreturn a - b\n", []string{"- return a - b"}},
		"a number":                  {"x = 30\n", "x = 60\n", "x = 30\ny = 1\n", []string{"x = 60", "- x = 30"}},
		"renamed by the other":      {"a\nb\n", "a\nlog(price, when)\nb\n", "a\nlog(cost, when)\nb\n", nil},
		"what base has elsewhere":   {"return nil\n}\nx\n", "return nil\n}\nx\nreturn nil\n}\n", "y\n", nil},
		"a deletion that came back": {"keep\nold(1)\n", "keep\n", "keep\nnew(2)\nold(1)\n", []string{"- old(1)"}},
		"a file that is gone":       {"a\n", "a\nb c\n", "", []string{"b c"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := textmerge.Lost([]byte(tt.base), []byte(tt.side), []byte(tt.result))
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
