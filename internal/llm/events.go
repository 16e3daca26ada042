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
// Lines end in LF, CRLF or CR; comments and the fields that are no data
// are passed over, and an event at the end needs no blank line after it.
func ReadEvents(r io.Reader, take func(data []byte) error) error {
	in := bufio.NewReaderSize(r, 4096)
	e := eventReader{take: take}
	var long []byte
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
		took := e.lines(line)
		if took == nil && err == io.EOF {
			took = e.flush()
		}
		if took != nil {
			return leaving(took)
		}
		long = long[:0]
		if err != nil {
			return leaving(err)
		}
	}
}

// eventReader gathers the data of one event.
type eventReader struct {
	take  func([]byte) error
	data  []byte
	begun bool
}

// lines takes what stands before a line feed: one line, or several where the
// server ends them with a carriage return alone.
func (e *eventReader) lines(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	for {
		line, rest, more := bytes.Cut(text, []byte("\r"))
		if err := e.line(line); err != nil || !more {
			return err
		}
		text = rest
	}
}

func (e *eventReader) line(line []byte) error {
	if len(line) == 0 {
		return e.flush()
	}
	value, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return nil
	}
	if e.begun {
		e.data = append(e.data, '\n')
	}
	e.data, e.begun = append(e.data, bytes.TrimPrefix(value, []byte(" "))...), true
	return nil
}

func (e *eventReader) flush() error {
	if !e.begun {
		return nil
	}
	e.begun = false
	err := e.take(bytes.TrimSpace(e.data))
	e.data = e.data[:0]
	return err
}

func leaving(err error) error {
	if errors.Is(err, ErrLeave) || err == io.EOF {
		return nil
	}
	return err
}
