package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"agency/internal/agency"
	"agency/internal/llm"
)

// Embedder asks for vectors of texts over the embeddings API. It is safe for concurrent use.
type Embedder struct {
	client *llm.Client
	model  string
}

// NewEmbedder makes one that asks a model; it does no I/O.
func NewEmbedder(opts Options, model string) *Embedder { return &Embedder{connect(opts), model} }

// Close drops idle connections.
func (m *Embedder) Close() { m.client.Close() }

// Embed gives a vector for each of the texts, all of one length, and what was counted for
// them. The error of a request that was refused before anything was counted is an *llm.Fault
// that is AtDoor.
func (m *Embedder) Embed(ctx context.Context, texts []string) (out [][]float32, used agency.Usage, err error) {
	res, err := m.client.Post(ctx, "embeddings", func(dst []byte) []byte { return m.body(dst, texts) })
	if err != nil {
		return nil, used, llm.Explain(ctx, m.client.At, m.model, err)
	}
	defer func() { _ = res.Body.Close() }() // what mattered of it was read
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, used, llm.Explain(ctx, m.client.At, m.model, err)
	}
	var answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			Prompt llm.Amount `json:"prompt_tokens"`
			Total  llm.Amount `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, used, m.bad("no JSON of the embeddings API: " + err.Error())
	}
	if used.In = int64(max(answer.Usage.Prompt, answer.Usage.Total)); used.In == 0 {
		used.Estimated = true
		for _, t := range texts {
			used.In += llm.EstimateTokens(int64(len(t)))
		}
	}
	out = make([][]float32, len(texts))
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= len(out) || len(d.Embedding) == 0 || len(d.Embedding) != len(answer.Data[0].Embedding) {
			return nil, used, m.bad(fmt.Sprintf("vector %d of %d texts has %d numbers", d.Index, len(texts), len(d.Embedding)))
		}
		out[d.Index] = d.Embedding
	}
	for i, v := range out {
		if v == nil {
			return nil, used, m.bad(fmt.Sprintf("no vector for text %d of %d", i+1, len(texts)))
		}
	}
	return out, used, nil
}

func (m *Embedder) bad(what string) error {
	return llm.Explain(context.Background(), m.client.At, m.model, &llm.Fault{Kind: llm.BadAnswer, Provider: m.client.At.Provider, Detail: what})
}

func (m *Embedder) body(dst []byte, texts []string) []byte {
	dst = append(dst, `{"input":[`...)
	for i, t := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = llm.AppendText(dst, t)
	}
	dst = append(llm.AppendText(append(dst, `],"model":`...), m.model), '}')
	return dst
}

// Free tells whether a request that failed cost nothing.
func Free(err error) bool {
	f := (*llm.Fault)(nil)
	return errors.As(err, &f) && f.AtDoor()
}
