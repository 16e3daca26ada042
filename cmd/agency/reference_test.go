package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// reference is all commands as Markdown, made from their help.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Command line\n\nMade from the commands themselves; `agency COMMAND --help` says the same.\n\n")
	b.WriteString(strings.TrimSpace(root.Long) + "\n")
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n", strings.TrimSuffix(g.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
				describe(&b, c)
			}
		}
	}
	return b.String()
}

func describe(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n### %s\n\n%s.\n", c.UseLine(), c.Short)
	if c.Long != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(c.Long))
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.Trim(c.Example, "\n"))
	}
	if flags := c.LocalFlags().FlagUsages(); flags != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.TrimRight(flags, "\n"))
	}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			describe(b, sub)
		}
	}
}
