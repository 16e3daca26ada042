package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of one message.
const (
	maxMessage = 16 << 20
	maxHeaders = 8
	maxHeader  = 256
)

// message is any of the protocol's.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *fault          `json:"error,omitempty"`
}

type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f *fault) Error() string { return f.Message }

// framed is a message as it goes over the pipe.
func framed(m message) ([]byte, error) {
	m.Version = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(b)), b...), nil
}

// readMessage reads one; n is how many bytes it took.
func readMessage(r *bufio.Reader) (m message, n int, err error) {
	length := -1
	for i := 0; ; i++ {
		line, err := r.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, bufio.ErrBufferFull) {
				err = errors.New("it writes what is no message")
			}
			return m, n, err
		}
		n += len(line)
		if i == maxHeaders || len(line) > maxHeader {
			return m, n, errors.New("it writes what is no message")
		}
		text := strings.TrimSpace(string(line))
		if text == "" {
			break
		}
		if k, v, _ := strings.Cut(text, ":"); strings.EqualFold(k, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(v)); err != nil || length < 0 || length > maxMessage {
				return m, n, fmt.Errorf("it announces a message of %.20q bytes, the most is %d", strings.TrimSpace(v), maxMessage)
			}
		}
	}
	if length < 0 {
		return m, n, errors.New("it writes a message without a length")
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return m, n, err
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, n, errors.New("it writes a message that is no JSON")
	}
	return m, n + length, nil
}
