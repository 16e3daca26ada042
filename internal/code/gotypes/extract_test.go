package gotypes

import (
	"errors"
	"strings"
	"testing"
)

const work = `
-- go.mod --
module m

go 1.22
-- a.go --
package m

import (
	"fmt"
	"strings"
)

func Sum(list []int, limit int) (int, error) {
	total := 0
	count := 0
	for _, n := range list {
		if n > limit {
			continue
		}
		total += n
		count++
	}
	mean := 0
	if count > 0 {
		mean = total / count
	}
	fmt.Println("mean", mean)
	if total < 0 {
		return 0, fmt.Errorf("less than none")
	}
	return total + mean, nil
}

func Shared() string {
	var b strings.Builder
	n := 1
	inc := func() { n++ }
	inc()
	b.WriteString("x")
	n += 2
	p := &n
	*p = 3
	return b.String()
}

func Loop() (out []string) {
	last := ""
	for i := range 3 {
		word := fmt.Sprint(i)
		if last != "" {
			word += last
		}
		last = word
		out = append(out, word)
	}
	return
}

func Generic[T any](v T) T {
	w := v
	return w
}

func Nothing(list []int) {
	for i, n := range list {
		n++
		if n > 3 {
			println(i, n)
			return
		}
		list[i] = n
	}
	if len(list) > 2 {
		return
	}
	println("short")
}

func Named(n int) (out int, err error) {
	if n > 0 {
		return n, nil
	}
	f := func() int {
		n := 4
		return n
	}
	return f(), nil
}

func Case(n int) (string, error) {
	switch n {
	case 1:
		n += 2
		return fmt.Sprint(n), nil
	default:
		return "", nil
	}
}
`

// The lines become a function that is given what they read and gives back what is read of
// them, and the program does what it did.
func TestExtract(t *testing.T) {
	for _, tc := range []struct {
		from, to int
		want     []string
	}{
		{9, 17, []string{"total, count := extracted(list, limit)", "func extracted(list []int, limit int) (int, int) {", "return total, count"}},
		{18, 21, []string{"mean := extracted(total, count)", "func extracted(total int, count int) int {"}},
		{22, 22, []string{"\textracted(mean)\n", "func extracted(mean int) {"}},
		{12, 17, nil}, // the end of the loop, not its beginning
		{44, 48, []string{"var word string", "last, word = extracted(last, i)"}},
		{22, 26, []string{"\treturn extracted(total, mean)\n}", "func extracted(total int, mean int) (int, error) {"}},
		{26, 26, []string{"\treturn extracted(total, mean)\n}"}},
		{23, 25, nil}, // it does not always return
		{63, 64, []string{"\t\t\textracted(i, n)\n\t\t\treturn\n\t\t}", "func extracted(i int, n int) {"}},
		{68, 71, []string{"\t}\n\textracted(list)\n}"}},
		{68, 70, nil}, // what follows would run
		{75, 77, nil}, // of named results
		{79, 80, nil}, // of a literal
		{88, 89, []string{"case 1:\n\t\treturn extracted(n)\n\tdefault", "func extracted(n int) (string, error) {"}},
		{86, 92, []string{"{\n\treturn extracted(n)\n}"}},
		{10, 17, []string{"var count int\n\ttotal, count = extracted(list, limit, total)"}},
	} {
		files := tree(work)
		out, err := Extract(t.Context(), shared(), Files{FS: files}, "a.go", tc.from, tc.to, "extracted")
		if tc.want == nil {
			if err == nil {
				t.Errorf("lines %d to %d: %s", tc.from, tc.to, out)
			}
			continue
		}
		if err != nil {
			t.Errorf("lines %d to %d: %v", tc.from, tc.to, err)
			continue
		}
		for _, w := range tc.want {
			if !strings.Contains(string(out), w) {
				t.Errorf("lines %d to %d: no %q in\n%s", tc.from, tc.to, w, out)
			}
		}
		builds(t, files, map[string][]byte{"a.go": out})
	}
}

func TestExtractRefused(t *testing.T) {
	for _, tc := range []struct {
		from, to   int
		name, want string
	}{
		{22, 25, "x", "missing return"},
		{75, 77, "x", "a return"},
		{12, 14, "x", "a jump"},
		{34, 34, "x", "b is shared"},
		{35, 35, "x", "n is shared"},
		{31, 32, "x", "n is declared in the lines"},
		{1, 5, "x", "not within one function"},
		{19, 20, "x", "part of a statement"},
		{22, 22, "func", "no name"},
		{22, 22, "Sum", "would not compile"},
		{55, 55, "x", "parameters of type"},
	} {
		_, err := Extract(t.Context(), shared(), Files{FS: tree(work)}, "a.go", tc.from, tc.to, tc.name)
		if r := (*Refused)(nil); !errors.As(err, &r) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("lines %d to %d: %v, want %s", tc.from, tc.to, err, tc.want)
		}
	}
}
