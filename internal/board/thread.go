package board

import (
	"cmp"

	"agency/internal/agency"
	"agency/internal/store"
)

// Thread is a message and what was said in answer to it, in the order in which
// it was held. Its id is that of the message that began it.
type Thread struct {
	ID    agency.MessageID `json:"id"`
	Posts []Post           `json:"messages"`
}

// Response is what has become of the response that a message requires.
type Response string

// The responses; a message that requires none has the empty one.
const (
	ResponseAwaited Response = "awaited"
	ResponseGiven   Response = "given"
	ResponseOverdue Response = "overdue" // none came in time, and the sender was told
	ResponseLate    Response = "late"    // it came after that
	ResponseNever   Response = "never"   // the message is a dead letter
)

// ThreadOf is the thread that a message belongs to; KindNotFound where the run
// has no such message.
func ThreadOf(q store.Querier, run agency.RunID, id agency.MessageID) (Thread, error) {
	m, err := one(q, run, id)
	if err != nil {
		return Thread{}, err
	}
	ps, err := read(q, selectThread, string(run), string(m.ThreadRoot))
	return Thread{ID: m.ThreadRoot, Posts: ps}, err
}

// Threads are those of a run, in the order in which they began.
func Threads(q store.Querier, run agency.RunID) ([]Thread, error) {
	ps, err := Posts(q, run)
	var out []Thread
	at := map[agency.MessageID]int{}
	for _, p := range ps {
		root := cmp.Or(p.ThreadRoot, p.ID)
		i, known := at[root]
		if !known {
			i = len(out)
			at[root], out = i, append(out, Thread{ID: root})
		}
		out[i].Posts = append(out[i].Posts, p)
	}
	return out, err
}

// Response is what has become of the response to a post of this thread, and
// the message that gives it.
func (t Thread) Response(p Post) (r Response, by agency.MessageID) {
	if !p.RequiresResponse {
		return "", ""
	}
	late := false
	for _, o := range t.Posts {
		switch {
		case o.InReplyTo != p.ID:
		case o.ID == overdueNotice(p.ID):
			late = true
		case by == "" && o.From != p.From && (o.From != agency.FromSystem || o.Type != agency.MessageErrorOccurred):
			by = o.ID
			r = ResponseGiven
			if late {
				r = ResponseLate
			}
		}
	}
	switch {
	case r != "":
		return r, by
	case late:
		return ResponseOverdue, ""
	case p.Status == agency.MailFailed:
		return ResponseNever, ""
	}
	return ResponseAwaited, ""
}

// DeadLetters are the deliveries of the thread that will never be read.
func (t Thread) DeadLetters() int {
	n := 0
	for _, p := range t.Posts {
		for _, d := range p.Deliveries {
			if d.Status == agency.MailFailed {
				n++
			}
		}
	}
	return n
}
