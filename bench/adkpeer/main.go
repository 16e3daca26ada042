// Command adkpeer is the contender that holds the conversation, or plays the composition,
// with adk-go and its SQLite sessions. It is a binary of its own, because the pure Go driver
// that adk-go is tested with registers the same name as the product's.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/glebarez/sqlite"
	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/session/database"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"agency/bench/peer"
)

func main() { os.Exit(peer.Main(contend)) }

const (
	app  = "bench"
	user = "ada"
	// pragmas make a commit as durable as the product's.
	pragmas = "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(15000)"
)

func contend(ctx context.Context, job peer.Job) (peer.Report, error) {
	sessions, err := openSessions(job.Dir)
	if err != nil {
		return peer.Report{}, err
	}
	if job.Agents > 0 {
		return compose(ctx, job, sessions)
	}
	return converse(ctx, job, sessions)
}

func openSessions(dir string) (session.Service, error) {
	sessions, err := database.NewSessionService(
		sqlite.Open("file:"+filepath.Join(dir, "adk.db")+pragmas), &gorm.Config{Logger: logger.Discard},
	)
	if err != nil {
		return nil, err
	}
	return sessions, database.AutoMigrate(sessions)
}

func converse(ctx context.Context, job peer.Job, sessions session.Service) (peer.Report, error) {
	if err := peer.WriteFiles(job.Dir, job.Turns, 1000); err != nil {
		return peer.Report{}, err
	}
	chat, err := peer.NewChat(job)
	if err != nil {
		return peer.Report{}, err
	}
	r, err := newRunner(chat, sessions, job.Dir)
	if err != nil {
		return peer.Report{}, err
	}
	m := peer.NewMeter(job)
	for n := range job.Sessions {
		counted := m
		if n == 0 {
			counted = nil
		}
		if err := hold(ctx, r, sessions, chat.First, fmt.Sprintf("session-%d", n), job.Turns, counted); err != nil {
			return peer.Report{}, fmt.Errorf("session %d: %w", n, err)
		}
	}
	return m.Report(), nil
}

func newRunner(chat *peer.Chat, sessions session.Service, dir string) (*runner.Runner, error) {
	tools, err := tools(chat.Functions, dir)
	if err != nil {
		return nil, err
	}
	a, err := llmagent.New(llmagent.Config{
		Name: "generalist", Model: model{chat}, Tools: tools,
		// Not Instruction, whose braces are placeholders.
		InstructionProvider: func(agent.ReadonlyContext) (string, error) { return chat.System, nil },
	})
	if err != nil {
		return nil, err
	}
	return runner.New(runner.Config{AppName: app, Agent: a, SessionService: sessions})
}

// tools are the opening request's; only read_file is ever called.
func tools(functions []peer.Function, dir string) ([]tool.Tool, error) {
	var out []tool.Tool
	for _, f := range functions {
		var schema jsonschema.Schema
		if err := json.Unmarshal(f.Parameters, &schema); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", f.Name, err)
		}
		t, err := functiontool.New(functiontool.Config{Name: f.Name, Description: f.Description, InputSchema: &schema}, readFile(dir))
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

type readArgs struct {
	Path string `json:"path"`
}

type readResult struct {
	Text string `json:"text"`
}

func readFile(dir string) functiontool.Func[readArgs, readResult] {
	return func(_ tool.Context, a readArgs) (readResult, error) {
		text, err := os.ReadFile(filepath.Join(dir, a.Path))
		return readResult{string(text)}, err
	}
}

// hold holds one conversation. A turn has ended when its tool's result is in
// the session.
func hold(ctx context.Context, r *runner.Runner, sessions session.Service, first, id string, turns int, m *peer.Meter) error {
	if _, err := sessions.Create(ctx, &session.CreateRequest{AppName: app, UserID: user, SessionID: id}); err != nil {
		return err
	}
	turn := 0
	for ev, err := range r.Run(ctx, user, id, genai.NewContentFromText(first, genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			return fmt.Errorf("turn %d: %w", turn+1, err)
		}
		if !isResult(ev) {
			continue
		}
		turn++
		if m != nil && turn == 1 {
			m.Start()
		}
		if turn == turns {
			if m != nil {
				m.Stop(turns - 1)
			}
			return nil
		}
	}
	return fmt.Errorf("ended after %d turns", turn)
}

func isResult(ev *session.Event) bool {
	return ev.Content != nil && len(ev.Content.Parts) > 0 && ev.Content.Parts[0].FunctionResponse != nil
}
