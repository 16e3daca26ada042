package tool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func openRoom(t *testing.T) (*Files, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := OpenFiles(dir, "/repo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, dir
}

// What is long goes to a file whole, and the lines that look like errors are found with
// their numbers, however the output comes in.
func TestSpill(t *testing.T) {
	f, dir := openRoom(t)
	var all bytes.Buffer
	for i := 1; i <= 20000; i++ {
		switch {
		case i%1000 == 0:
			fmt.Fprintf(&all, "main.go:%d: undefined: x\n", i)
		case i%777 == 0:
			all.WriteString("checked: 0 errors\n")
		default:
			fmt.Fprintf(&all, "ok %d\n", i)
		}
	}
	all.WriteString("the end, without a line's end: FAILED")
	for _, piece := range []int{1, 7, 4096, all.Len()} {
		s := NewSpill(f)
		for rest := all.Bytes(); len(rest) > 0; {
			n := min(piece, len(rest))
			_, _ = s.Write(rest[:n])
			rest = rest[n:]
		}
		got := s.End(all.Bytes())
		if got == nil || got.File == "" || got.Cut || got.Lines != 20001 || got.Bytes != int64(all.Len()) || got.ErrorLines != 21 {
			t.Fatalf("by %d: %+v", piece, got)
		}
		if first, last := got.Errors[0], got.Errors[len(got.Errors)-1]; first.N != 1000 || first.Text != "main.go:1000: undefined: x" || last.N != 20001 || len(got.Errors) != firstErrors+lastErrors {
			t.Errorf("by %d: %+v", piece, got.Errors)
		}
		if b, err := os.ReadFile(filepath.Join(dir, got.File)); err != nil || !bytes.Equal(b, all.Bytes()) {
			t.Errorf("by %d: the file has %d bytes of %d, %v", piece, len(b), all.Len(), err)
		}
	}
	s := NewSpill(f)
	_, _ = s.Write(all.Bytes()[:MaxShown])
	if got := s.End(nil); got != nil {
		t.Errorf("of what is short: %+v", got)
	}
}

// The file of an output without end has its beginning and its end, and can still be read.
func TestSpillIsBounded(t *testing.T) {
	f, dir := openRoom(t)
	s := NewSpill(f)
	block := bytes.Repeat([]byte("0123456789abcde\n"), 4096)
	for range 2 * MaxFile / len(block) {
		_, _ = s.Write(block)
	}
	got := s.End(append(bytes.Clone(block), "the last line\n"...))
	if got == nil || !got.Cut || got.Lines != 2*MaxFile/16 {
		t.Fatalf("%+v", got)
	}
	b, err := os.ReadFile(filepath.Join(dir, got.File))
	if err != nil || len(b) > MaxFile || !bytes.HasSuffix(b, []byte("the last line\n")) || !bytes.Contains(b, []byte("left out of the middle]")) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := f.Load(got.File); err != nil {
		t.Error(err)
	}
}

// Old ones go; and where an agent has put a link there, none is written through it.
func TestSpillKeepsFew(t *testing.T) {
	f, dir := openRoom(t)
	long := bytes.Repeat([]byte("line\n"), MaxShown)
	for range keptOutputs + 3 {
		s := NewSpill(f)
		_, _ = s.Write(long)
		if got := s.End(long); got.File == "" {
			t.Fatal("no file")
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, OutputDir, "*.txt"))
	if err != nil || len(names) != keptOutputs || !strings.HasSuffix(names[len(names)-1], fmt.Sprintf("/%d.txt", keptOutputs+3)) {
		t.Errorf("%v, %v", names, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, OutputDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(dir, OutputDir)); err != nil {
		t.Fatal(err)
	}
	s := NewSpill(f)
	_, _ = s.Write(long)
	if got := s.End(long); got == nil || got.File != "" || got.Lines != MaxShown {
		t.Errorf("through a link: %+v", got)
	}
}
