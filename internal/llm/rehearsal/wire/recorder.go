package wire

import (
	"slices"
	"sync"

	"agency/internal/agency"
)

// Recorder keeps what a server was asked, in memory. It is safe for concurrent
// use.
type Recorder struct {
	mu      sync.Mutex
	records []Record
}

// Record is one request that came in.
type Record struct {
	Seq      int          // from 1, in order of arrival
	Wire     string       // openai, responses, anthropic or gemini
	Hash     string       // of the canonical request: equal questions have equal hashes
	Rule     string       // the script's rule that answered, "" for none
	Fault    string       // the fault of the exchange that was played, "" for an answer
	Usage    agency.Usage // what the answer costs or would have cost
	Session  string       // the header X-Rehearsal-Session, "" where not given
	Finished bool         // the answer was written to its end
	Ended    bool         // the handler has returned
	Body     []byte       // as received; nil unless bodies are kept
}

// Records is a copy of what came in so far.
func (r *Recorder) Records() []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.records)
}

// Bodies are those of the requests that came in so far, where they are kept.
func (r *Recorder) Bodies() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([][]byte, len(r.records))
	for i, rec := range r.records {
		out[i] = rec.Body
	}
	return out
}

// Count is how many requests came in.
func (r *Recorder) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.records)
}

// Repeated lists the hashes of questions that were asked again after they had
// been answered to the end: none, if stored answers are never asked for.
func (r *Recorder) Repeated() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	answered := map[string]bool{}
	var out []string
	for _, rec := range r.records {
		if answered[rec.Hash] {
			out = append(out, rec.Hash)
		}
		if rec.Finished && rec.Fault == "" {
			answered[rec.Hash] = true
		}
	}
	return out
}

func (r *Recorder) begin(rec Record) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec.Seq = len(r.records) + 1
	r.records = append(r.records, rec)
	return rec.Seq
}

func (r *Recorder) finish(seq int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[seq-1].Finished = true
}

func (r *Recorder) end(seq int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records[seq-1].Ended = true
}
