package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrLeave ends ReadEvents without an error of its own.
var ErrLeave = errors.New("leave the stream")

// ReadEvents gives the data of each server-sent event to take, until the
// stream ends or take gives an error: ErrLeave for nil, any other as it is.
// Lines end in LF or CRLF; comments and the fields that are no data
// are passed over, and an event at the end needs no blank line after it.
func ReadEvents(r io.Reader, take func(data []byte) error) error {
	in := bufio.NewReaderSize(r, 4096)
	var data, long []byte
	begun := false
	flush := func() error {
		if !begun {
			return nil
		}
		begun = false
		err := take(bytes.TrimSpace(data))
		data = data[:0]
		return err
	}
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, line...)
			continue
		}
		if len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if begun {
				data = append(data, '\n')
			}
			value = bytes.TrimPrefix(bytes.TrimRight(value, "\r\n"), []byte(" "))
			data, begun = append(data, value...), true
		}
		if blank(line) || err == io.EOF {
			if e := flush(); e != nil {
				return leaving(e)
			}
		}
		long = long[:0]
		if err != nil {
			return leaving(err)
		}
	}
}

// blank tells whether a line, with its end, ends an event.
func blank(line []byte) bool { return len(bytes.Trim(line, "\r\n")) == 0 && len(line) > 0 }

func leaving(err error) error {
	if errors.Is(err, ErrLeave) || err == io.EOF {
		return nil
	}
	return err
}
