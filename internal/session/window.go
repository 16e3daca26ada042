package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/store"
)

const (
	// unknownWindow is the context window of a model that nobody knows, in
	// tokens: most models take more, and one that takes less says so once.
	unknownWindow = 64 << 10
	// leastWindow is the smallest window that a provider's words are believed to
	// mean; a smaller number in an error means something else.
	leastWindow = 1 << 10
	// maxFolds is how often in a row a conversation is compacted without a turn
	// between: each time to half of the time before.
	maxFolds = 4
)

// window is the context window that the session keeps to, in tokens.
func (c *conversation) window() int64 {
	w := c.setup.Window
	if w <= 0 {
		w = unknownWindow
	}
	if c.learned > 0 {
		w = min(w, c.learned)
	}
	return w
}

// output is the most tokens of one answer: the role's, and never so many that
// no room is left for a conversation.
func (c *conversation) output() int64 {
	out := c.setup.Limits.MaxOutput
	if out <= 0 {
		out = llm.DefaultMaxOutput
	}
	return max(1, min(out, c.window()/4))
}

// full tells whether a request that needs so many tokens is too near the
// window. What is counted of a prompt is the provider's count of the last one
// and an estimate on the high side of what came since, so a little room is
// enough.
func (c *conversation) full(need int64) bool {
	w := c.window()
	return need > w-w/50
}

// turnRoom is how many bytes the results of one turn may have together: a
// turn alone must never fill the window.
func (c *conversation) turnRoom() int { return int(c.window()) * 3 / 4 }

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

// learn is the window after a provider refused a request as too long: what it
// says, or, where the request should have fitted that, less than the request
// was.
func (c *conversation) learn(detail string) int64 {
	need := c.st.promptTokens() + maxOutput(c.req)
	told := toldWindow(detail)
	if told > 0 && told < need {
		return told
	}
	return max(leastWindow, min(need, c.window())*4/5)
}

// recall reads what this run has learned of the models' windows.
func (c *conversation) recall(ctx context.Context) error {
	return c.r.o.DB.Read(ctx, func(s *store.Snapshot) error {
		for _, m := range c.setup.Models {
			var n int64
			err := s.QueryRow(`SELECT tokens FROM session_window WHERE run_id = ? AND model = ?`, string(c.spec.Run), m).Scan(&n)
			switch {
			case errors.Is(err, sql.ErrNoRows):
			case err != nil:
				return err
			case c.learned == 0 || n < c.learned:
				c.learned = n
			}
		}
		return nil
	})
}

// overflow notes that the provider refused the request as too long. The
// conversation is compacted before it is sent again.
func (c *conversation) overflow(ctx context.Context, model, detail string) error {
	learned := c.learn(detail)
	st := c.st
	st.Due = &due{Cause: dueOverflow}
	err := c.write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		if _, err := tx.Exec(`INSERT INTO session_window (run_id, model, tokens) VALUES (?, ?, ?)
			ON CONFLICT (run_id, model) DO UPDATE SET tokens = min(tokens, excluded.tokens)`,
			string(c.spec.Run), model, learned); err != nil {
			return err
		}
		w := &draft{c: c, tx: tx, st: st, turn: c.turn}
		if err := w.save(); err != nil {
			return err
		}
		text := fmt.Sprintf("%s does not take the request: %s; from now on its window counts as %d tokens", model, clip(detail, 200), learned)
		return w.log(agency.SeverityWarning, text, agency.Log{Text: text})
	})
	if err != nil {
		return err
	}
	c.st, c.learned = st, learned
	return c.r.o.between("overflow")
}
