package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/host"
	"agency/internal/host/planfile"
	"agency/internal/host/workshop"
)

// maxTeamFile bounds a file that a run is started with, in bytes. It is below
// what the host takes in a request.
const maxTeamFile = 6 << 20

// teamFile reads the file that stands in the place of a goal; none where it is
// a goal.
func (a *app) teamFile(arg string) (config.Source, error) {
	if !isTeamFile(arg) {
		return config.Source{}, nil
	}
	path := strings.TrimSpace(arg)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return config.Source{}, agency.Errorf(agency.KindInvalid, "run %s: there is no such file", path).
			WithMend("name a file that exists, or say as a goal what should be different: agency run \"GOAL\"")
	case err != nil:
		return config.Source{}, usage("run %s: %v", path, bare(err))
	case !info.Mode().IsRegular(): // a pipe would never end
		return config.Source{}, usage("run %s: not a plain file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return config.Source{}, usage("run %s: %v", path, bare(err))
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(io.LimitReader(f, maxTeamFile+1))
	switch {
	case err != nil:
		return config.Source{}, usage("run %s: %v", path, bare(err))
	case len(b) > maxTeamFile:
		return config.Source{}, usage("run %s: larger than %d bytes", path, maxTeamFile)
	case filepath.Base(path) == repoFile && len(b) > 0:
		return config.Source{}, agency.Errorf(agency.KindInvalid, "run %s: this is the configuration, and is read anyway", path).
			WithMend("say what should be different: agency run \"GOAL\"")
	}
	if b == nil {
		b = []byte{}
	}
	return config.Source{Path: path, Data: b}, nil
}

// given is the goal and plan of a run: those of its file, where it has one.
// Contracts are worked on by a team, unless somebody says otherwise.
func given(l *config.Loaded, cfg *config.Config, goal string) (string, *agency.Plan, error) {
	team := l.Team
	if team == nil {
		return goal, nil, nil
	}
	if team.Planned.Line > 0 && l.Origin("mode").Layer == config.LayerDefault {
		cfg.Mode = agency.ModeMultiAgent
	}
	at := config.TeamFault{Line: max(1, team.Goal.Line), Col: max(1, team.Goal.Col)}
	if strings.TrimSpace(team.Goal.Text) == "" {
		at.What = "the file says no goal: what should be different"
		return "", nil, team.Err([]config.TeamFault{at})
	}
	if err := host.CheckGoal(team.Goal.Text); err != nil {
		at.What = err.Error()
		return "", nil, team.Err([]config.TeamFault{at})
	}
	plan, err := planfile.Read(team, *cfg, workshop.PlanFaults)
	return strings.TrimSpace(team.Goal.Text), plan, err
}
