package native

import (
	"context"
	"strconv"
	"strings"

	"agency/internal/llm"
	"agency/internal/regexp"
	"agency/internal/session/record"
	"agency/internal/store"
)

const (
	// unknownWindow is the context window of a model that nobody knows, in
	// tokens: most models take more, and one that takes less says so once.
	unknownWindow = 64 << 10
	// leastWindow is the smallest window that a provider's words are believed to
	// mean; a smaller number in an error means something else.
	leastWindow = 1 << 10
)

// window is the context window that a session keeps to.
type window struct {
	configured int64 // in tokens; 0: nobody knows
	learned    int64 // that a provider has shown, in tokens; 0: none
	answer     int64 // the most tokens of one answer, by the role; 0: the default
}

// tokens is how many the window has.
func (w window) tokens() int64 {
	n := w.configured
	if n <= 0 {
		n = unknownWindow
	}
	if w.learned > 0 {
		n = min(n, w.learned)
	}
	return n
}

// output is the most tokens of one answer: the role's, and never so many that
// no room is left for a conversation.
func (w window) output() int64 {
	out := w.answer
	if out <= 0 {
		out = llm.DefaultMaxOutput
	}
	return max(1, min(out, w.tokens()/4))
}

// full tells whether a request that needs so many tokens is too near the
// window. What is counted of a prompt is the provider's count of the last one
// and an estimate on the high side of what came since, so a little room is
// enough.
func (w window) full(need int64) bool { return need > w.tokens()-w.tokens()/50 }

// turnRoom is how many bytes the results of one turn may have together: a
// turn alone must never fill the window.
func (w window) turnRoom() int { return int(w.tokens()) * 3 / 4 }

// mailRoom is how many bytes of mail one request shows: an eighth of the
// window, so that a full inbox pushes out nothing else.
func (w window) mailRoom() int { return int(w.tokens()) * 3 / 8 }

var namedLimits = []*regexp.Regexp{
	regexp.MustCompile(`> ?([0-9][0-9,_]{2,})`),
	regexp.MustCompile(`(?i)(?:maximum context length|context length|context limit|context window|context size|max_model_len|n_ctx|maximum(?: number of)?(?: input)? tokens|token limit)[^0-9]{0,40}([0-9][0-9,_]{2,})`),
	regexp.MustCompile(`(?i)([0-9][0-9,_]{2,}) ?(?:tokens? )?(?:maximum|limit)`),
}

// toldWindow reads the window out of a provider's complaint; 0 where it names
// none.
func toldWindow(text string) int64 {
	for _, re := range namedLimits {
		m := re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		n, err := strconv.ParseInt(strings.NewReplacer(",", "", "_", "").Replace(m[1]), 10, 64)
		if err == nil && n >= leastWindow {
			return n
		}
	}
	return 0
}

// learn is the window after a provider refused a request of so many tokens as too
// long: what it says, or, where the request should have fitted that, less than
// the request was.
func (w window) learn(need int64, detail string) int64 {
	told := toldWindow(detail)
	if told > 0 && told < need {
		return told
	}
	return max(leastWindow, min(need, w.tokens())*4/5)
}

// recall reads what this run has learned of the models' windows.
func (p *part) recall(ctx context.Context) error {
	return p.DB.Read(ctx, func(s *store.Snapshot) error {
		for _, m := range p.lineup.Names {
			n, err := record.Window(s, p.Spec.Run, m)
			if err != nil {
				return err
			}
			if n > 0 && (p.window.learned == 0 || n < p.window.learned) {
				p.window.learned = n
			}
		}
		return nil
	})
}
