package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/llm/rehearsal"
	"agency/internal/llm/rehearsal/wire"
)

func (a *app) rehearseCommand() *cobra.Command {
	var script, listen string
	cmd := &cobra.Command{
		Use: "rehearse", Short: "Serve the rehearsal player over the providers' wires, on loopback", Args: cobra.NoArgs,
		Long: `Plays a script as if it were a model, over the wires of OpenAI (chat and responses),
Anthropic and Gemini, so that a configuration can be tried without a key and faults can be injected.`,
		Example: `  agency rehearse --script team.yaml --listen 127.0.0.1:8080
  # providers: {local: {type: openai, base_url: http://127.0.0.1:8080/v1, api_key: none}}`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.rehearse(cmd.Context(), script, listen) },
	}
	cmd.Flags().StringVar(&script, "script", "", "the `FILE` to play (default: the embedded script)")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "the loopback `ADDRESS` to listen on")
	return cmd
}

func (a *app) rehearse(ctx context.Context, file, listen string) error {
	script, err := rehearsal.Default()
	if file != "" {
		script, err = parseScript(file)
	}
	if err != nil {
		return err
	}
	if err := onLoopback(listen); err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return agency.Errorf(agency.KindTransient, "--listen %s: %w", listen, err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	a.printf(a.out, "playing %s\n  openai     base_url: http://%s/v1\n  anthropic  base_url: http://%s\n  gemini     base_url: http://%s\n", script.Name(), l.Addr(), l.Addr(), l.Addr())
	s := &http.Server{Handler: wire.New(rehearsal.NewPlayer(script), wire.Options{}), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return agency.Errorf(agency.KindTransient, "serving: %w", err)
	}
	return nil
}

func parseScript(file string) (*rehearsal.Script, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, usage("--script: %v", err)
	}
	return rehearsal.Parse(file, b)
}

// onLoopback refuses addresses that others can reach: the player asks for no
// key.
func onLoopback(listen string) error {
	name, _, err := net.SplitHostPort(listen)
	if err != nil {
		return usage("--listen %q: want HOST:PORT", listen)
	}
	if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return usage("--listen %s: only loopback addresses", listen)
	}
	return nil
}
