package main

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/agent/workflowagents/parallelagent"
	"google.golang.org/adk/agent/workflowagents/sequentialagent"
	adkmodel "google.golang.org/adk/model"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/genai"

	"agency/bench/peer"
)

// compose plays the job's composition in sessions of its own.
func compose(ctx context.Context, job peer.Job, sessions session.Service) (peer.Report, error) {
	first, err := composition(job)
	if err != nil {
		return peer.Report{}, err
	}
	r, err := runner.New(runner.Config{AppName: app, Agent: first, SessionService: sessions})
	if err != nil {
		return peer.Report{}, err
	}
	m := peer.NewMeter(job)
	for n := range job.Sessions {
		if n > 0 {
			m.Start()
		}
		if err := play(ctx, r, sessions, fmt.Sprintf("session-%d", n), job.Agents); err != nil {
			return peer.Report{}, err
		}
		if n > 0 {
			m.Stop(job.Agents)
		}
	}
	return m.Report(), nil
}

func composition(job peer.Job) (agent.Agent, error) {
	agents := make([]agent.Agent, job.Agents)
	for i := range agents {
		a, err := llmagent.New(llmagent.Config{Name: fmt.Sprintf("a%d", i), Model: answering{}, Instruction: "Answer."})
		if err != nil {
			return nil, err
		}
		agents[i] = a
	}
	if !job.Beside {
		return sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "chain", SubAgents: agents}})
	}
	last := len(agents) - 1
	fan, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "fan", SubAgents: agents[:last]}})
	if err != nil {
		return nil, err
	}
	return sequentialagent.New(sequentialagent.Config{AgentConfig: agent.Config{Name: "panel", SubAgents: []agent.Agent{fan, agents[last]}}})
}

// play lets all agents answer once.
func play(ctx context.Context, r *runner.Runner, sessions session.Service, id string, agents int) error {
	if _, err := sessions.Create(ctx, &session.CreateRequest{AppName: app, UserID: user, SessionID: id}); err != nil {
		return err
	}
	answers := 0
	for ev, err := range r.Run(ctx, user, id, genai.NewContentFromText("answer", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			return err
		}
		if ev.Content != nil && len(ev.Content.Parts) == 1 && ev.Content.Parts[0].Text == peer.Done {
			answers++
		}
	}
	if answers != agents {
		return fmt.Errorf("%d of %d agents have answered", answers, agents)
	}
	return nil
}

// answering is a model whose answer is there at once.
type answering struct{}

// Name is for adk-go.
func (answering) Name() string { return "answering" }

// GenerateContent is for adk-go.
func (answering) GenerateContent(context.Context, *adkmodel.LLMRequest, bool) iter.Seq2[*adkmodel.LLMResponse, error] {
	return func(yield func(*adkmodel.LLMResponse, error) bool) {
		yield(&adkmodel.LLMResponse{
			Content: genai.NewContentFromText(peer.Done, genai.RoleModel), TurnComplete: true, FinishReason: genai.FinishReasonStop,
			UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 10, CandidatesTokenCount: 1, TotalTokenCount: 11},
		}, nil)
	}
}
