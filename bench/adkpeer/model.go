package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/openai/openai-go/v3"
	adkmodel "google.golang.org/adk/model"
	"google.golang.org/genai"

	"agency/bench/peer"
)

// model lets adk-go ask through the same SDK as the other contenders. The
// tools are the opening request's, which spares it their translation.
type model struct{ chat *peer.Chat }

// Name is for adk-go.
func (m model) Name() string { return "rehearsal" }

// GenerateContent asks once and gives the whole answer.
func (m model) GenerateContent(ctx context.Context, req *adkmodel.LLMRequest, _ bool) iter.Seq2[*adkmodel.LLMResponse, error] {
	return func(yield func(*adkmodel.LLMResponse, error) bool) {
		messages, err := messages(req)
		if err != nil {
			yield(nil, err)
			return
		}
		answer, err := m.chat.Ask(ctx, messages)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(response(answer))
	}
}

func messages(req *adkmodel.LLMRequest) ([]openai.ChatCompletionMessageParamUnion, error) {
	var out []openai.ChatCompletionMessageParamUnion
	if req.Config != nil && req.Config.SystemInstruction != nil {
		out = append(out, openai.SystemMessage(req.Config.SystemInstruction.Parts[0].Text))
	}
	for _, c := range req.Contents {
		if c.Role == genai.RoleModel {
			m, err := assistant(c)
			if err != nil {
				return nil, err
			}
			out = append(out, m)
			continue
		}
		for _, p := range c.Parts {
			if p.FunctionResponse == nil {
				out = append(out, openai.UserMessage(p.Text))
				continue
			}
			text, err := json.Marshal(p.FunctionResponse.Response)
			if err != nil {
				return nil, err
			}
			out = append(out, openai.ToolMessage(string(text), p.FunctionResponse.ID))
		}
	}
	return out, nil
}

func assistant(c *genai.Content) (openai.ChatCompletionMessageParamUnion, error) {
	var a openai.ChatCompletionAssistantMessageParam
	for _, p := range c.Parts {
		if p.FunctionCall == nil {
			a.Content.OfString = openai.String(p.Text)
			continue
		}
		args, err := json.Marshal(p.FunctionCall.Args)
		if err != nil {
			return openai.ChatCompletionMessageParamUnion{}, err
		}
		call := &openai.ChatCompletionMessageFunctionToolCallParam{ID: p.FunctionCall.ID}
		call.Function.Name, call.Function.Arguments = p.FunctionCall.Name, string(args)
		a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: call})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &a}, nil
}

func response(answer *openai.ChatCompletion) (*adkmodel.LLMResponse, error) {
	m := answer.Choices[0].Message
	content := &genai.Content{Role: genai.RoleModel}
	if m.Content != "" {
		content.Parts = append(content.Parts, &genai.Part{Text: m.Content})
	}
	for _, call := range m.ToolCalls {
		var args map[string]any
		if err := json.Unmarshal([]byte(call.Function.Arguments), &args); err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", call.Function.Name, err)
		}
		content.Parts = append(content.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{
			ID: call.ID, Name: call.Function.Name, Args: args,
		}})
	}
	return &adkmodel.LLMResponse{
		Content: content, TurnComplete: true, FinishReason: genai.FinishReasonStop,
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{
			PromptTokenCount: int32(answer.Usage.PromptTokens), CandidatesTokenCount: int32(answer.Usage.CompletionTokens),
			TotalTokenCount: int32(answer.Usage.TotalTokens),
		},
	}, nil
}
