package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agency/internal/agency"
	"agency/internal/codebase"
	"agency/internal/preview"
)

func codeCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "code", Short: "Symbols of the checkout: find, refs, callers, outline, search, rename",
		Long: `Answers about the code of your checkout, by the engine that agents have. Nothing
of the repository is run.

Each answer says how sure it is: types (Go, by its type checker), syntax (other
languages: names are not resolved) or text. Language servers are asked by agents
alone, in their sandbox. A search of a repository that is not
indexed yet answers by text, and indexes it before the command ends, for later
ones. The index is in the repository's state folder, which the first run makes;
before that every search is by text.

With context.vector_search a search also finds code by its meaning: the question
and parts of committed files are sent to the provider of
context.embeddings_model, without files in which something looks like a secret.
What was asked, and what it costs, is said at the end; no run's budget pays it.`,
		Args: none, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(codeFind(a), codeRefs(a), codeCallers(a), codeOutline(a), codeSearch(a), codeRename(a))
	return cmd
}

// mostListed is how many entries a command lists.
const mostListed = 500

// onCode opens the checkout's code for a command.
func onCode(a *app, do func(*preview.Code) error) (err error) {
	h, err := a.look()
	if err != nil {
		return err
	}
	c, err := a.preview(h).Code()
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, c.Close())
		if said := c.Asked(); said != "" {
			a.note("%s", said)
		}
	}()
	return do(c)
}

func codeFind(a *app) *cobra.Command {
	var asJSON bool
	var kind string
	cmd := &cobra.Command{
		Use: "find NAME", Short: "Where a name is defined", Args: exactly(1),
		Example: "  agency code find Stack.Push --kind method",
		RunE: func(cmd *cobra.Command, args []string) error {
			if kinds := []string{"any", "function", "class", "method", "variable"}; !slices.Contains(kinds, kind) {
				return agency.Errorf(agency.KindInvalid, "--kind %s: want one of %s", kind, strings.Join(kinds, ", "))
			}
			return onCode(a, func(c *preview.Code) error {
				out, err := c.Find(cmd.Context(), args[0], codebase.Group(kind), mostListed)
				if err == nil && len(out.Symbols) == 0 {
					err = agency.Errorf(agency.KindNotFound, "code find %s: nothing of that name is defined in the checkout", args[0])
				}
				if err != nil {
					return err
				}
				return a.showPlain(asJSON, out, func() string {
					if out.Near {
						return "nothing has exactly that name; these have it in theirs:\n" + symbolLines(out.Symbols, out.More)
					}
					return symbolLines(out.Symbols, out.More)
				})
			})
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "any", "only this `KIND`: function, class, method, variable or any")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func symbolLines(all []codebase.Symbol, more bool) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s:%d: %s %s\n", s.Path, s.Line, s.Kind, s.Signature)
	}
	if more {
		fmt.Fprintf(&b, "more are left out after %d\n", len(all))
	}
	return b.String()
}

// used finds the references of a symbol: its file is named, or it is the only one of its name.
func used(ctx context.Context, c *preview.Code, symbol, file string) (codebase.Used, error) {
	file, err := fileOf(ctx, c, symbol, file)
	if err != nil {
		return codebase.Used{}, err
	}
	return c.References(ctx, symbol, file)
}

// fileOf is the file that defines a symbol.
func fileOf(ctx context.Context, c *preview.Code, symbol, file string) (string, error) {
	if file != "" {
		return c.Rel(file)
	}
	found, err := c.Find(ctx, symbol, "any", 10)
	if err != nil {
		return "", err
	}
	var files []string
	for _, s := range found.Symbols {
		if !slices.Contains(files, s.Path) {
			files = append(files, s.Path)
		}
	}
	switch {
	case len(files) == 0 || found.Near:
		return "", agency.Errorf(agency.KindNotFound, "%s: nothing of that name is defined in the checkout", symbol).WithMend("agency code find %s", symbol)
	case len(files) > 1:
		return "", agency.Errorf(agency.KindInvalid, "%s is defined in several files: %s", symbol, strings.Join(files, ", ")).WithMend("name one: --file FILE")
	}
	return files[0], nil
}

func codeRefs(a *app) *cobra.Command {
	var asJSON bool
	var file string
	cmd := &cobra.Command{
		Use: "refs SYMBOL", Short: "Where a symbol is used", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onCode(a, func(c *preview.Code) error {
				out, err := used(cmd.Context(), c, args[0], file)
				if err != nil {
					return err
				}
				return a.showPlain(asJSON, out, func() string {
					text := placeLines(out.Places)
					if out.More {
						text += "the repository has more files than were looked at\n"
					}
					if len(out.Unsure) > 0 {
						text += "may be of something else:\n" + placeLines(out.Unsure)
					}
					return text + "certainty: " + string(out.Certainty) + "\n"
				})
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the `FILE` that defines it, where several define one of its name")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func placeLines(all []codebase.Place) string {
	var b strings.Builder
	for _, p := range all {
		fmt.Fprintf(&b, "%s:%d: %s\n", p.Path, p.Line, p.Text)
	}
	return b.String()
}

func codeCallers(a *app) *cobra.Command {
	var asJSON bool
	var file string
	cmd := &cobra.Command{
		Use: "callers SYMBOL", Short: "The functions and types in which a symbol is used", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onCode(a, func(c *preview.Code) error {
				out, err := used(cmd.Context(), c, args[0], file)
				if err != nil {
					return err
				}
				doc := struct {
					Certainty codebase.Certainty `json:"certainty"`
					Callers   []codebase.Place   `json:"callers"`
					Unsure    []codebase.Place   `json:"unsure,omitempty"`
				}{out.Certainty, out.Callers(), out.Unsure}
				return a.showPlain(asJSON, doc, func() string {
					var b strings.Builder
					for _, p := range doc.Callers {
						fmt.Fprintf(&b, "%s:%d: %s\n", p.Path, p.Line, p.In)
					}
					if len(doc.Unsure) > 0 {
						b.WriteString("may be of something else:\n" + placeLines(doc.Unsure))
					}
					return b.String() + "certainty: " + string(doc.Certainty) + "\n"
				})
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the `FILE` that defines it, where several define one of its name")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func codeOutline(a *app) *cobra.Command {
	var asJSON bool
	var depth int
	cmd := &cobra.Command{
		Use: "outline PATH", Short: "What a file defines, or the files of a folder", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onCode(a, func(c *preview.Code) error {
				at, err := c.Rel(args[0])
				if err != nil {
					return err
				}
				out, err := c.Outline(cmd.Context(), at, depth, 10*mostListed)
				if err != nil {
					return err
				}
				return a.showPlain(asJSON, out, func() string {
					text := symbolLines(out.Symbols, out.More)
					for _, b := range out.Broken {
						text += "its syntax has a fault, some may be missing: " + b + "\n"
					}
					return text
				})
			})
		},
	}
	cmd.Flags().IntVar(&depth, "depth", 2, "`LEVELS` of nesting to show")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func codeSearch(a *app) *cobra.Command {
	var asJSON bool
	var most int
	cmd := &cobra.Command{
		Use: "search WORDS...", Short: "Code and documents that a question is about", Args: cobra.MinimumNArgs(1),
		Example: "  agency code search how are retries counted",
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 1 || most > mostListed {
				return agency.Errorf(agency.KindInvalid, "--max-results is 1 to %d", mostListed)
			}
			return onCode(a, func(c *preview.Code) error {
				if err := c.ByMeaning(cmd.Context()); err != nil {
					return err
				}
				out, err := c.Search(cmd.Context(), strings.Join(args, " "), most)
				if err == nil && len(out.Passages) == 0 && !out.Indexing && out.Note == "" && !asJSON {
					err = agency.Errorf(agency.KindNotFound, "code search: nothing in the checkout is about that").WithMend("agency code find NAME, or other words")
				}
				if err != nil {
					return err
				}
				if out.Passages == nil {
					out.Passages = []codebase.Passage{}
				}
				return a.showPlain(asJSON, out, func() string {
					var b strings.Builder
					for _, p := range out.Passages {
						fmt.Fprintf(&b, "%s:%d: %s\n", p.Path, p.Line, p.Text)
					}
					if out.Indexing {
						b.WriteString("the index is being made; a later search answers better\n")
					}
					if out.Note != "" {
						b.WriteString(out.Note + "\n")
					}
					if out.Partial {
						b.WriteString("the repository has more text than is searched\n")
					}
					return b.String() + "certainty: " + string(out.Certainty) + "\n"
				})
			})
		},
	}
	cmd.Flags().IntVar(&most, "max-results", 10, "show at most `N`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// renameDoc is what a renaming prints as JSON.
type renameDoc struct {
	Certainty codebase.Certainty `json:"certainty"`
	Places    int                `json:"places"`
	Files     []string           `json:"files"`
	Diff      string             `json:"diff"`
	Notes     []string           `json:"notes,omitempty"`
	Written   bool               `json:"written"`
}

func codeRename(a *app) *cobra.Command {
	var asJSON, write bool
	var file string
	cmd := &cobra.Command{
		Use: "rename SYMBOL NAME", Short: "Give a symbol another name wherever it is used, or nowhere", Args: exactly(2),
		Long: `Prints the change, as a patch without context, and writes it with --write alone.
All references get the new name or none does: where one cannot be told for
certain it is refused, with the reason and the places.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return onCode(a, func(c *preview.Code) error {
				at, err := fileOf(cmd.Context(), c, args[0], file)
				if err != nil {
					return err
				}
				ch, err := c.Rename(cmd.Context(), args[0], at, args[1])
				if err != nil {
					return err
				}
				if write {
					if err := c.Write(ch); err != nil {
						return err
					}
				}
				doc := renameDoc{Certainty: ch.Certainty, Places: ch.Places, Notes: ch.Notes, Written: write}
				for _, f := range ch.Files {
					doc.Files, doc.Diff = append(doc.Files, f.Path), doc.Diff+lineDiff(f)
				}
				return a.showAsIs(asJSON, doc, func() string { return doc.Diff + doc.words() })
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&file, "file", "", "the `FILE` that defines it, where several define one of its name")
	fl.BoolVar(&write, "write", false, "write the files")
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (d renameDoc) words() string {
	var b strings.Builder
	did := "nothing is written without --write"
	if d.Written {
		did = "written"
	}
	fmt.Fprintf(&b, "%s in %s; certainty: %s; %s\n", agency.Things(d.Places, "place", "places"), agency.Things(len(d.Files), "file", "files"), d.Certainty, did)
	if len(d.Notes) > 0 {
		fmt.Fprintf(&b, "the old name still stands in text:\n%s\n", strings.Join(d.Notes, "\n"))
	}
	return b.String()
}

// lineDiff is the patch of a file whose lines are as many as before.
func lineDiff(f codebase.FileChange) string {
	was, now := strings.Split(string(f.Before), "\n"), strings.Split(string(f.After), "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", f.Path, f.Path)
	for i := range was {
		if i < len(now) && was[i] != now[i] {
			fmt.Fprintf(&b, "@@ -%d +%d @@\n-%s\n+%s\n", i+1, i+1, was[i], now[i])
		}
	}
	return b.String()
}
