package main

import (
	"context"
	"os"
	"os/signal"

	"agency/internal/demo"

	"github.com/spf13/cobra"
)

func rehearseCommand(a *app) *cobra.Command {
	var script, listen string
	cmd := &cobra.Command{
		Use: "rehearse", Short: "Serve the rehearsal player over the providers' wires, on loopback", Args: none,
		Long: `Plays a script as if it were a model, over the wires of OpenAI (chat and responses),
Anthropic and Gemini, so that a configuration can be tried without a key and faults can be injected. It holds nothing and
reaches nothing; requests of web pages, and under another name than that of a loopback address, are refused.`,
		Example: `  agency rehearse --script team.yaml --listen 127.0.0.1:8080
  # providers: {local: {type: openai, base_url: http://127.0.0.1:8080/v1, api_key: none}}`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.rehearse(cmd.Context(), script, listen) },
	}
	cmd.Flags().StringVar(&script, "script", "", "the `FILE` to play (default: the embedded script)")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "the loopback `ADDRESS` to listen on")
	return cmd
}

func (a *app) rehearse(ctx context.Context, file, listen string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	return demo.Rehearse(ctx, file, listen, func(script, addr string) {
		a.printf(a.out, "playing %s\n  openai     base_url: http://%s/v1\n  anthropic  base_url: http://%s\n  gemini     base_url: http://%s\n", script, addr, addr, addr)
	})
}
