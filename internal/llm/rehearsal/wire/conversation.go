package wire

import (
	"errors"
	"fmt"

	"agency/internal/llm"
)

// conversation puts messages of either wire into the canonical form, and
// refuses what the vendors refuse: a call without its result directly after
// it, a result without its call, an id used twice in a message.
type conversation struct {
	messages []llm.Message
	open     map[string]bool // calls of the last answer that have no result yet
}

func (c *conversation) user(b llm.Block) {
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == llm.User {
		c.messages[n-1].Blocks = append(c.messages[n-1].Blocks, b)
		return
	}
	c.messages = append(c.messages, llm.Message{Role: llm.User, Blocks: []llm.Block{b}})
}

func (c *conversation) result(r llm.ToolResult) error {
	if !c.open[r.ID] {
		return fmt.Errorf("result of %q answers no open call", r.ID)
	}
	delete(c.open, r.ID)
	c.user(r)
	return nil
}

func (c *conversation) assistant(blocks []llm.Block) error {
	if err := c.whole(); err != nil {
		return err
	}
	if len(blocks) == 0 {
		return errors.New("an assistant message is empty")
	}
	for _, b := range blocks {
		u, ok := b.(llm.ToolUse)
		if !ok {
			continue
		}
		if u.ID == "" || u.Name == "" {
			return errors.New("a tool call needs an id and a name")
		}
		if c.open[u.ID] {
			return fmt.Errorf("tool call id %q is used twice", u.ID)
		}
		c.open[u.ID] = true
	}
	c.messages = append(c.messages, llm.Message{Role: llm.Assistant, Blocks: blocks})
	return nil
}

// whole says whether every call has its result.
func (c *conversation) whole() error {
	for id := range c.open {
		return fmt.Errorf("tool call %q has no result", id)
	}
	return nil
}
