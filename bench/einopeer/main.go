// Command einopeer is the contender that has agents answer one after the other, or beside
// each other, with eino's own compositions, which keep nothing.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"agency/bench/peer"
)

func main() { os.Exit(peer.Main(contend)) }

func contend(ctx context.Context, job peer.Job) (peer.Report, error) {
	first, err := compose(ctx, job)
	if err != nil {
		return peer.Report{}, err
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: first})
	m := peer.NewMeter(job)
	for n := range job.Sessions {
		if n > 0 {
			m.Start()
		}
		if err := play(ctx, runner, job.Agents); err != nil {
			return peer.Report{}, err
		}
		if n > 0 {
			m.Stop(job.Agents)
		}
	}
	return m.Report(), nil
}

func compose(ctx context.Context, job peer.Job) (adk.Agent, error) {
	agents := make([]adk.Agent, job.Agents)
	for i := range agents {
		a, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
			Name: fmt.Sprintf("a%d", i), Description: "answers", Instruction: "Answer.", Model: answering{},
		})
		if err != nil {
			return nil, err
		}
		agents[i] = a
	}
	if !job.Beside {
		return adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{Name: "chain", Description: "a chain", SubAgents: agents})
	}
	last := len(agents) - 1
	fan, err := adk.NewParallelAgent(ctx, &adk.ParallelAgentConfig{Name: "fan", Description: "beside each other", SubAgents: agents[:last]})
	if err != nil {
		return nil, err
	}
	return adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{Name: "panel", Description: "a panel", SubAgents: []adk.Agent{fan, agents[last]}})
}

// play lets all of them answer once.
func play(ctx context.Context, r *adk.Runner, agents int) error {
	answers := 0
	for it := r.Run(ctx, []adk.Message{schema.UserMessage("answer")}); ; {
		ev, ok := it.Next()
		if !ok {
			break
		}
		if ev.Err != nil {
			return ev.Err
		}
		if ev.Output != nil && ev.Output.MessageOutput != nil && ev.Output.MessageOutput.Message.Content == peer.Done {
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

var _ model.ToolCallingChatModel = answering{}

// Generate is for eino.
func (answering) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage(peer.Done, nil), nil
}

// Stream is for eino, which does not stream here.
func (answering) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return nil, errors.New("not streamed")
}

// WithTools is for eino.
func (a answering) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return a, nil }
