package quality

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/bounded"
	"agency/internal/text"
)

// SARIF 2.1.0 (OASIS), as much of it as findings have.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name  string      `json:"name"`
	Rules []sarifRule `json:"rules,omitempty"`
}

type sarifRule struct {
	ID         string          `json:"id"`
	Default    *sarifDefault   `json:"defaultConfiguration,omitempty"`
	Properties sarifProperties `json:"properties"`
}

type sarifDefault struct {
	Level string `json:"level,omitempty"`
}

type sarifResult struct {
	RuleID     string          `json:"ruleId"`
	RuleIndex  *int            `json:"ruleIndex,omitempty"`
	Level      string          `json:"level,omitempty"`
	Message    sarifMessage    `json:"message"`
	Locations  []sarifLocation `json:"locations,omitempty"`
	Properties sarifProperties `json:"properties"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

// sarifProperties are the bags that SARIF leaves to tools: ours, and what GitHub and
// others agreed on.
type sarifProperties struct {
	Severity         agency.IssueSeverity `json:"severity,omitempty"`
	Dimension        agency.Dimension     `json:"dimension,omitempty"`
	SecuritySeverity string               `json:"security-severity,omitempty"`
	Tags             []string             `json:"tags,omitempty"`
}

// levels are what severities are in SARIF.
var levels = map[agency.IssueSeverity]string{
	agency.IssueCritical: "error", agency.IssueMajor: "error", agency.IssueMinor: "warning", agency.IssueNitpick: "note",
}

// WriteSARIF writes findings as SARIF 2.1.0, a run an analyzer.
func WriteSARIF(w io.Writer, findings []agency.QualityFinding) error {
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{}}
	var tools []string
	for _, f := range findings {
		if !slices.Contains(tools, f.Analyzer) {
			tools = append(tools, f.Analyzer)
		}
	}
	if len(tools) == 0 {
		tools = []string{analyzer} // that it ran, and found nothing
	}
	slices.Sort(tools)
	for _, tool := range tools {
		run := sarifRun{Tool: sarifTool{sarifDriver{Name: tool}}, Results: []sarifResult{}}
		for _, f := range findings {
			if f.Analyzer != tool {
				continue
			}
			at := slices.IndexFunc(run.Tool.Driver.Rules, func(r sarifRule) bool { return r.ID == f.Rule })
			if at < 0 {
				at = len(run.Tool.Driver.Rules)
				run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: f.Rule, Properties: sarifProperties{Tags: []string{string(f.Dimension)}}})
			}
			place := sarifPhysical{Artifact: sarifArtifact{(&url.URL{Path: f.File}).EscapedPath()}}
			if f.Line > 0 {
				place.Region = &sarifRegion{f.Line}
			}
			run.Results = append(run.Results, sarifResult{
				RuleID: f.Rule, RuleIndex: &at, Level: levels[f.Severity], Message: sarifMessage{f.Message}, Locations: []sarifLocation{{place}},
				Properties: sarifProperties{Severity: f.Severity, Dimension: f.Dimension},
			})
		}
		log.Runs = append(log.Runs, run)
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(log)
}

// maxSARIF is how many keys and values a log may have: a text of empty results takes a
// hundred times its size in memory.
const maxSARIF = 300_000

// ReadSARIF reads what an analyzer found, whoever wrote it. Files are relative to the root, where they stand
// below it; results without a place are left out. Severities that nobody set are those of
// the level: an error is major, a warning minor, a note a nitpick.
func ReadSARIF(text []byte, root string) ([]agency.QualityFinding, error) {
	if err := bounded.JSON(bytes.NewReader(text), maxSARIF, func([]string, json.Token) error { return nil }); err != nil {
		return nil, fmt.Errorf("SARIF: %w", err)
	}
	var log sarifLog
	if err := json.Unmarshal(text, &log); err != nil {
		return nil, fmt.Errorf("SARIF: %w", err)
	}
	if !strings.HasPrefix(log.Version, "2.1") {
		return nil, agency.Errorf(agency.KindInvalid, "SARIF of version %q, want 2.1.0", log.Version)
	}
	var out []agency.QualityFinding
	for _, run := range log.Runs {
		for _, r := range run.Results {
			if len(r.Locations) > 0 {
				out = append(out, r.finding(run.Tool.Driver, root))
			}
		}
	}
	slices.SortFunc(out, agency.CompareFindings)
	return out, nil
}

func (r sarifResult) finding(tool sarifDriver, root string) agency.QualityFinding {
	level, about := r.Level, r.Properties
	for _, known := range tool.Rules {
		if known.ID != r.RuleID {
			continue
		}
		if level == "" && known.Default != nil {
			level = known.Default.Level
		}
		about.Tags = append(about.Tags, known.Properties.Tags...)
		if about.SecuritySeverity == "" {
			about.SecuritySeverity = known.Properties.SecuritySeverity
		}
	}
	f := agency.QualityFinding{
		Analyzer: strings.ToLower(tool.Name), Rule: r.RuleID, Severity: about.Severity, Dimension: about.Dimension,
		File: fileOf(r.Locations[0].Physical.Artifact.URI, root), Message: text.FirstLine(r.Message.Text, 300),
	}
	if at := r.Locations[0].Physical.Region; at != nil {
		f.Line = at.StartLine
	}
	if !slices.Contains(agency.IssueSeverities(), f.Severity) {
		switch level {
		case "error":
			f.Severity = agency.IssueMajor
		case "note", "none":
			f.Severity = agency.IssueNitpick
		default: // warning is what SARIF says of a result that says nothing
			f.Severity = agency.IssueMinor
		}
	}
	if !slices.Contains(agency.Dimensions(), f.Dimension) {
		f.Dimension = dimensionOf(f.Analyzer, about)
	}
	return f
}

// dimensionOf is the dimension of a finding by who made it, and how its rule is tagged.
func dimensionOf(tool string, about sarifProperties) agency.Dimension {
	tagged := func(tag string) bool {
		return slices.ContainsFunc(about.Tags, func(t string) bool { return strings.EqualFold(t, tag) })
	}
	switch {
	case about.SecuritySeverity != "" || tagged("security"), tool == "gosec", tool == "bandit", tool == "semgrep", tool == "gitleaks":
		return agency.Security
	case tagged("performance"):
		return agency.Performance
	case tagged("readability"), tagged("style"):
		return agency.Readability
	case tagged("maintainability"):
		return agency.Maintainability
	}
	return agency.Correctness
}

// fileOf is the path of an address, relative to the root.
func fileOf(uri, root string) string {
	p := uri
	if u, err := url.Parse(uri); err == nil {
		p = u.Path
	}
	if rel, err := filepath.Rel(root, p); err == nil && filepath.IsAbs(p) && filepath.IsLocal(rel) {
		p = rel
	}
	return filepath.ToSlash(filepath.Clean(p))
}
