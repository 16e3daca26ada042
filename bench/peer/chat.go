package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// Chat asks a model the plain way that the SDK's own examples show: streaming,
// with its accumulator.
type Chat struct {
	client openai.Client
	model  string
	tools  []openai.ChatCompletionToolUnionParam

	// System and First are the prompt that a conversation begins with; Functions
	// are its tools.
	System, First string
	Functions     []Function
	// Whole asks for answers that are not streamed.
	Whole bool
}

// Function is a tool as the opening request offers it.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// opening is the part of a request that a peer takes over.
type opening struct {
	Model    string `json:"model"`
	Messages []struct {
		Content string `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function Function `json:"function"`
	} `json:"tools"`
}

// NewChat reads the job's opening request.
func NewChat(job Job) (*Chat, error) {
	var o opening
	if err := json.Unmarshal(job.Opening, &o); err != nil {
		return nil, fmt.Errorf("opening request: %w", err)
	}
	if len(o.Messages) != 2 {
		return nil, fmt.Errorf("opening request has %d messages, want system and user", len(o.Messages))
	}
	c := &Chat{
		client: openai.NewClient(option.WithBaseURL(job.URL), option.WithAPIKey("key"), option.WithMaxRetries(0)),
		model:  o.Model, System: o.Messages[0].Content, First: o.Messages[1].Content,
	}
	for _, t := range o.Tools {
		f := t.Function
		var schema map[string]any
		if err := json.Unmarshal(f.Parameters, &schema); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", f.Name, err)
		}
		c.Functions = append(c.Functions, f)
		c.tools = append(c.tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: f.Name, Description: openai.String(f.Description), Parameters: schema,
		}))
	}
	return c, nil
}

// Ask sends the conversation and gives the whole answer.
func (c *Chat) Ask(ctx context.Context, messages []openai.ChatCompletionMessageParamUnion) (*openai.ChatCompletion, error) {
	params := openai.ChatCompletionNewParams{Model: c.model, Messages: messages, Tools: c.tools, MaxTokens: openai.Int(8192)}
	if c.Whole {
		answer, err := c.client.Chat.Completions.New(ctx, params)
		return answer, hasChoice(answer, err)
	}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.client.Chat.Completions.NewStreaming(ctx, params)
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		acc.AddChunk(stream.Current())
	}
	return &acc.ChatCompletion, hasChoice(&acc.ChatCompletion, errors.Join(stream.Err(), stream.Close()))
}

func hasChoice(answer *openai.ChatCompletion, err error) error {
	if err == nil && len(answer.Choices) == 0 {
		return errors.New("the answer has no choice")
	}
	return err
}
