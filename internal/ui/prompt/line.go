package prompt

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrLeft is that of a line that whoever typed it left, or that is wanted no more.
var ErrLeft = errors.New("nothing was done")

// Line asks a question and reads the answer to the end of its line, of at most so many
// bytes. Nothing is read beyond the line.
func Line(in io.Reader, out io.Writer, question string, most int) (string, error) {
	if _, err := fmt.Fprint(out, question); err != nil {
		return "", err
	}
	var line []byte
	for one := make([]byte, 1); len(line) < most; {
		n, err := in.Read(one)
		if n == 1 && one[0] == '\n' || errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		line = append(line, one[:n]...)
	}
	return strings.TrimSpace(string(line)), nil
}

// clearLine takes a line that was left off the screen, where that can be; else it ends it. The
// terminal of so many columns has broken it into as many rows as it takes.
func clearLine(out io.Writer, line string, width int) error {
	if s, ok := out.(interface{ ClearLine(string, int) error }); ok {
		return s.ClearLine(line, width)
	}
	_, err := fmt.Fprintln(out)
	return err
}
