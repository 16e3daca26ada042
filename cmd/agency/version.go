package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"agency/internal/api"
	"agency/internal/daemon"
)

// version is set by the build of a release.
var version = "0.1.0-dev"

// build says which program this is: later is what was written later.
func build() api.Build {
	b := api.Build{Version: version}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value
			}
		}
	}
	if exe, err := os.Stat(selfFile()); err == nil {
		b.Made = exe.ModTime().UTC()
	}
	return b
}

// selfFile is this program's file; "" where that is not known.
func selfFile() string {
	path, _ := daemon.SelfPath()
	return path
}

func versionLine(b api.Build) string {
	s := "agency " + b.Version
	if b.Commit != "" {
		s += fmt.Sprintf(" (%.12s)", b.Commit)
	}
	return fmt.Sprintf("%s %s %s/%s\n", s, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func versionCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: none,
		RunE: func(*cobra.Command, []string) error {
			b := build()
			return a.showAsIs(asJSON, b, func() string { return versionLine(b) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
