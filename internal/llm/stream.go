package llm

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
)

// sniff looks at the first bytes of an answer, whatever its content type
// says, and gives a body that starts with them. It is whole where it is JSON in
// one piece, from a server that does not stream, else server-sent events. An HTML
// page and an empty body are faults. The body of an event stream gets the blank
// line at its end that some servers leave out after their last event.
func sniff(at Endpoint, res *http.Response) (whole bool, err error) {
	r := bufio.NewReaderSize(res.Body, 4096)
	head, err := skipSpace(r)
	if err == io.EOF {
		return false, &Fault{Kind: StreamCut, Provider: at.Provider, Status: res.StatusCode, Detail: "the body is empty"}
	}
	if err != nil {
		return false, err
	}
	switch head {
	case '<':
		page, _ := io.ReadAll(io.LimitReader(r, errorBodyLimit))
		return false, BadBody(at, res.StatusCode, page)
	case '{', '[':
		res.Body = joined{r, res.Body}
		return true, nil
	}
	res.Body = joined{io.MultiReader(r, bytes.NewReader([]byte("\n\n"))), res.Body}
	return false, nil
}

// BadBody names a body that is not the protocol.
func BadBody(at Endpoint, status int, body []byte) *Fault {
	return &Fault{
		Kind: BadAnswer, Provider: at.Provider, Status: status,
		Detail: quotePage(body), Mend: mendOf(BadAnswer, at, status),
	}
}

func skipSpace(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n', 0xef, 0xbb, 0xbf: // the last three are a byte order mark
			continue
		}
		return b, r.UnreadByte()
	}
}

type joined struct {
	io.Reader
	io.Closer
}

// Explain gives an error of an exchange its final form: the context's own error
// where that ended, else a Fault that knows the model.
func Explain(ctx context.Context, at Endpoint, model string, err error) error {
	if e := ctx.Err(); e != nil {
		return e
	}
	f := *FromError(at, err)
	f.Model = model
	return &f
}
