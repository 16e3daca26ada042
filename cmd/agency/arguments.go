package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"agency/internal/agency"
	"agency/internal/text"
)

// sayUsage makes what is wrong with arguments an error of usage, with the way
// to the command's help.
func sayUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil {
				err = flagsNamed(cmd)
			}
			if err == nil || agency.KindOf(err) != agency.KindInternal {
				return err
			}
			return agencyUsage(cmd, err)
		}
	}
	for _, sub := range cmd.Commands() {
		sayUsage(sub)
	}
}

// nameFlags are the flags whose text names something.
var nameFlags = []string{
	"repo", "mode", "target", "gate", "reason", "to", "older", "run", "since", "contract", "brief", "keep", "script", "listen", "feature", "file", "profile", "continue", "agent",
}

// flagsNamed refuses such a flag when it is empty, as named does for arguments:
// --repo "$UNSET" must not mean this folder, nor --gate "" the only gate, nor --continue ""
// a run from the start.
func flagsNamed(cmd *cobra.Command) error {
	for _, name := range nameFlags {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if text, err := cmd.Flags().GetString(name); err == nil && strings.TrimSpace(text) == "" {
			return usage("--%s is empty", name)
		}
	}
	return nil
}

func agencyUsage(cmd *cobra.Command, err error) error {
	return wrapUsage(err, cmd.CommandPath()+" --help")
}

// exactly wants so many arguments, the first that the command's usage names.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return named(args)
		}
		names := argumentsOf(cmd)[:n]
		what := fmt.Sprintf("%s is missing", strings.Join(names[min(len(args), n):], " and "))
		if len(args) > n {
			what = fmt.Sprintf("it takes %s, and here is %q besides; a text of several words is quoted", strings.Join(names, " and "), args[n])
		}
		return agency.Errorf(agency.KindInvalid, "%s: %s", cmd.Name(), what).WithMend("%s", usageOf(cmd))
	}
}

// atMostOne accepts a run's name or none.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exactly(1)(cmd, args)
	}
	return named(args)
}

// none accepts no arguments; where there are commands below, one was meant.
func none(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasSubCommands() {
		return agency.Errorf(agency.KindInvalid, "%s: it takes no arguments, and here is %q", cmd.Name(), args[0]).WithMend("%s", usageOf(cmd))
	}
	var known []string
	said := ""
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
		if slices.Contains(sub.SuggestFor, args[0]) { // as other programs call it
			said = fmt.Sprintf(" (did you mean %s?)", sub.Name())
		}
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), cmp.Or(said, text.Suggestion(args[0], known)))
}

// usageOf is how a command is typed, without its flags.
func usageOf(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

// argumentsOf are the names of a command's arguments, as its usage has them.
func argumentsOf(cmd *cobra.Command) (names []string) {
	way, _, _ := strings.Cut(cmd.Use, " | "+cmd.Name()) // the first of several
	for _, word := range strings.Fields(strings.ReplaceAll(way, " | ", "|"))[1:] {
		if strings.HasPrefix(word, "-") {
			break
		}
		if strings.HasPrefix(word, "[") && strings.HasSuffix(word, "]") {
			word = word[1 : len(word)-1]
		}
		names = append(names, strings.ReplaceAll(word, "|", " or "))
	}
	return names
}

// named refuses an empty argument: an unset variable of a script must not mean
// whichever run there is.
func named(args []string) error {
	for _, arg := range args {
		if strings.TrimSpace(arg) == "" {
			return usage("an argument is empty")
		}
	}
	return nil
}

// oneOf has a command refuse flags beside each other of which one is left out silently
// otherwise. It wraps the command's arguments, which are looked at before cobra looks at
// its groups: that one's words are for programmers, and its errors are of no kind.
func oneOf(cmd *cobra.Command, names ...string) {
	cmd.MarkFlagsMutuallyExclusive(names...) // for the completion of shells
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return err
		}
		var given []string
		for _, name := range names {
			if f := cmd.Flags().Lookup(name); f.Changed {
				given = append(given, "--"+name)
			}
		}
		if len(given) < 2 {
			return nil
		}
		return wrapUsage(fmt.Errorf("%s: %s: one of them, not %s", cmd.Name(), strings.Join(given, " and "), bothOrAll(len(given))), cmd.CommandPath()+" --help")
	}
}

func bothOrAll(n int) string {
	if n == 2 {
		return "both"
	}
	return "all"
}

func wrapUsage(err error, mend string) error {
	return agency.Errorf(agency.KindInvalid, "%w", err).WithMend("%s", mend)
}

// flagFault says in words what is wrong with a flag: which one was meant, what a number of
// it is to be.
func flagFault(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		meant := strings.Replace(text.Suggestion(unknown.GetSpecifiedName(), known), "mean ", "mean --", 1)
		return fmt.Errorf("%w%s", err, meant)
	}
	var bad *pflag.InvalidValueError
	var number *strconv.NumError
	switch {
	case !errors.As(err, &bad):
		return err
	case !errors.As(err, &number): // one of ours, which says what it wants
		return fmt.Errorf("--%s %q: %w", bad.GetFlag().Name, bad.GetValue(), errors.Unwrap(bad))
	}
	want := "a number"
	if bad.GetFlag().Value.Type() == "int" {
		want = "a whole number"
	}
	if errors.Is(number, strconv.ErrRange) {
		want += " that is not so large"
	}
	return fmt.Errorf("--%s %q: want %s", bad.GetFlag().Name, bad.GetValue(), want)
}
