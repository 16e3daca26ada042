package rehearsal

import (
	"slices"
	"strings"
	"time"
)

// FaultKind is a way in which an answer goes wrong.
type FaultKind string

// The faults of the exchange, played by the model or the server.
const (
	FaultRateLimited FaultKind = "rate_limited" // 429
	FaultOverloaded  FaultKind = "overloaded"   // 529
	FaultServer      FaultKind = "server"       // 500
	FaultHang        FaultKind = "hang"         // nothing comes until the client leaves
	FaultReset       FaultKind = "reset"        // the connection is reset before the answer
	FaultCutText     FaultKind = "cut_text"     // the stream is cut within a piece of text
	FaultCutCall     FaultKind = "cut_call"     // the stream is cut within a call's arguments
	FaultHTML        FaultKind = "html"         // a proxy's page, status 200
	FaultDrip        FaultKind = "drip"         // the whole answer, a byte at a time
	FaultAuth        FaultKind = "auth"         // 401
	FaultNoModel     FaultKind = "model_not_found"
	FaultOverflow    FaultKind = "context_overflow"
	FaultQuota       FaultKind = "quota"   // 429 that waiting does not mend
	FaultInvalid     FaultKind = "invalid" // 400
)

// The faults of the answer itself: it arrives whole and is odd.
const (
	FaultBadArgs      FaultKind = "bad_args"      // arguments that are no JSON
	FaultUnknownTool  FaultKind = "unknown_tool"  // a tool that was not offered
	FaultWrongTypes   FaultKind = "wrong_types"   // arguments of other types than the schema's
	FaultHuge         FaultKind = "huge"          // 10 MB of text
	FaultEmpty        FaultKind = "empty"         // no text and no call
	FaultRefusal      FaultKind = "refusal"       // declined
	FaultLength       FaultKind = "length"        // cut by the output limit
	FaultDuplicateIDs FaultKind = "duplicate_ids" // two calls of one id
)

// Faults lists every kind, those of the answer last.
func Faults() []FaultKind {
	return []FaultKind{
		FaultRateLimited, FaultOverloaded, FaultServer, FaultHang, FaultReset, FaultCutText, FaultCutCall,
		FaultHTML, FaultDrip, FaultAuth, FaultNoModel, FaultOverflow, FaultQuota, FaultInvalid,
		FaultBadArgs, FaultUnknownTool, FaultWrongTypes, FaultHuge, FaultEmpty, FaultRefusal, FaultLength,
		FaultDuplicateIDs,
	}
}

// OfAnswer says that the answer arrives whole and only its content is odd.
func (k FaultKind) OfAnswer() bool {
	return slices.Index(Faults(), k) >= slices.Index(Faults(), FaultBadArgs)
}

// Fault is a fault to play.
type Fault struct {
	Kind FaultKind
	// Times is how many identical requests of this process meet it; 0 is all.
	Times      int
	RetryAfter time.Duration
	Form       string        // of RetryAfter: seconds, date or ms
	Size       int           // of FaultHuge, in bytes
	Over       time.Duration // of FaultDrip
}

func (f *fault) compile() (*Fault, error) {
	out := &Fault{
		Kind: FaultKind(f.Kind.s), Times: f.Times, RetryAfter: time.Duration(f.RetryAfter),
		Form: f.Form.s, Size: f.Size, Over: time.Duration(f.Over),
	}
	if !slices.Contains(Faults(), out.Kind) {
		var names []string
		for _, k := range Faults() {
			names = append(names, string(k))
		}
		n := f.Kind.node
		if n == nil {
			n = f.node
		}
		return nil, wrong(n, "unknown fault %q: want of %s", f.Kind.s, strings.Join(names, ", "))
	}
	if out.Form == "" {
		out.Form = "seconds"
	}
	if !slices.Contains([]string{"seconds", "date", "ms"}, out.Form) {
		return nil, wrong(f.Form.node, "form: want seconds, date or ms")
	}
	if out.Times < 0 || out.Size < 0 || out.Size > maxHuge {
		return nil, wrong(f.node, "times and size: want from 0, size at most %d", maxHuge)
	}
	if out.Size == 0 {
		out.Size = 10 << 20
	}
	if out.Over == 0 {
		out.Over = 2 * time.Second
	}
	return out, nil
}

const maxHuge = 64 << 20
