package main

import (
	"agency/internal/agency"
	"agency/internal/config"
)

// agentsRun refuses commands that let agents work where no system keeps their
// commands in (docs/design.md, Platforms).
func (a *app) agentsRun() error {
	if a.goos != "windows" {
		return nil
	}
	return agency.Errorf(agency.KindTransient, "agents do not work on Windows itself: it has no sandbox for their commands").
		WithMend("wsl --install, then run agency in WSL2, in a clone that lies there")
}

// walls refuses a configuration that wants a sandbox where the system has none
// for anybody. Linux may have one; the host finds out.
func (a *app) walls(cfg config.Config) error {
	if a.goos == "linux" || cfg.Sandbox.Mode == config.SandboxOff {
		return nil
	}
	return agency.Errorf(agency.KindTransient, "%s has no sandbox: commands of agents would run with your rights", systemName(a.goos)).
		WithMend("run agency on Linux, or accept that: set sandbox: {mode: \"off\"} in your own file or agency.yaml")
}

func systemName(goos string) string {
	if goos == "darwin" {
		return "macOS"
	}
	return goos
}
