// Package backlog reads and edits features.json, the list of features at a
// repository's root. It is the repository's content: its size is bounded, it is
// opened through os.Root and never through a link, and every fault is named
// with line and column. An edit changes the bytes that it is about and leaves
// everything else, fields that nobody here knows included, as it was.
//
// What a feature is, and which is ready, is decided in package agency.
package backlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"agency/internal/agency"
	"agency/internal/bounded"
)

// Name is the file's path in the repository.
const Name = "features.json"

// The bounds of a backlog.
const (
	MaxSize     = 1 << 20 // bytes
	maxFeatures = 5000
	maxText     = 20_000 // bytes of a description or a step
)

// File is a backlog without faults.
type File struct {
	Features []agency.Feature

	data []byte
	list *node // of the features; nil where there is no file
}

// Find is a feature by its id. KindNotFound names the way to those there are.
func (f *File) Find(id agency.FeatureID) (agency.Feature, error) {
	for _, have := range f.Features {
		if have.ID == id {
			return have, nil
		}
	}
	return agency.Feature{}, agency.Errorf(agency.KindNotFound, "%s has no feature %s", Name, id).WithMend("agency features list")
}

// Fault is what is wrong at a place of the file.
type Fault struct {
	Line, Col int
	What      string
}

// Error is all faults, a line each.
type Error []Fault

func (e Error) Error() string {
	lines := make([]string, len(e))
	for i, f := range e {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", Name, f.Line, f.Col, f.What)
	}
	return strings.Join(lines, "\n")
}

// Read opens the backlog of a folder. No file is an empty backlog.
func Read(root *os.Root, maxSteps int) (*File, error) {
	data, err := readFile(root)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{}, nil
	}
	if err != nil {
		return nil, agency.Errorf(agency.KindInvalid, "%s: %w", Name, err)
	}
	return Parse(data, maxSteps)
}

func readFile(root *os.Root) ([]byte, error) {
	info, err := root.Lstat(Name)
	switch {
	case err != nil:
		return nil, agency.Cause(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("is no plain file")
	case info.Size() > MaxSize:
		return nil, fmt.Errorf("has %d bytes, the most is %d", info.Size(), MaxSize)
	}
	data, err := bounded.Read(root, Name, MaxSize)
	if err != nil {
		return nil, agency.Cause(err)
	}
	return data, nil
}

// Parse reads a backlog: a list of features, or an object that has one under
// features. A feature may have maxSteps verification steps. Its error is
// KindInvalid around an Error with every fault.
func Parse(data []byte, maxSteps int) (*File, error) {
	p := &parser{data: data, maxSteps: maxSteps}
	f := p.file()
	if len(p.faults) > 0 {
		return nil, agency.Errorf(agency.KindInvalid, "%w", p.faults)
	}
	return f, nil
}

type parser struct {
	data     []byte
	maxSteps int
	faults   Error
	places   []*node // of the features
}

// maxFaults keeps a file of another kind from filling the screen.
const maxFaults = 50

func (p *parser) fault(at int, format string, args ...any) {
	if len(p.faults) >= maxFaults {
		return
	}
	before := p.data[:min(at, len(p.data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	col := 1 + len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:])))
	p.faults = append(p.faults, Fault{line, col, fmt.Sprintf(format, args...)})
}

func (p *parser) file() *File {
	if len(p.data) > MaxSize {
		p.fault(0, "has %d bytes, the most is %d", len(p.data), MaxSize)
		return nil
	}
	root, err := readTree(p.data)
	if syntax := (*syntaxError)(nil); errors.As(err, &syntax) {
		p.fault(syntax.at, "%s", syntax.what)
		return nil
	}
	list := root
	if root.kind == '{' {
		list = root.get("features")
	}
	if list == nil || list.kind != '[' {
		p.fault(root.start, `want a list of features, or {"features": [...]}`)
		return nil
	}
	if len(list.items) > maxFeatures {
		p.fault(list.start, "%d features, the most is %d", len(list.items), maxFeatures)
		return nil
	}
	f := &File{data: p.data, list: list}
	for _, n := range list.items {
		f.Features = append(f.Features, p.feature(n))
		p.places = append(p.places, n)
	}
	p.whole(f.Features)
	return f
}

func (p *parser) feature(n *node) (f agency.Feature) {
	if n.kind != '{' {
		p.fault(n.start, "want a feature: {\"id\": ..., \"description\": ...}")
		return f
	}
	f.ID = agency.FeatureID(p.id(n, n.get("id"), "id"))
	if f.ID != "" {
		if err := agency.CheckFeatureID(f.ID); err != nil {
			p.fault(n.get("id").start, "%v", err)
		}
	}
	f.Description = p.text(n, "description")
	if n.get("description") == nil || f.Description == "" {
		p.fault(n.start, "feature %s has no description", f.ID)
	}
	f.TestFile = p.text(n, "test_file")
	if f.TestFile != "" {
		if err := agency.CheckRelPath(f.TestFile); err != nil {
			p.fault(n.get("test_file").start, "test_file: %v", err)
		}
	}
	var err error
	if size := n.get("size_estimate"); size != nil {
		if f.Size, err = agency.ParseComplexity(p.text(n, "size_estimate")); err != nil {
			p.fault(size.start, "size_estimate: %v", err)
		}
	}
	for _, s := range p.items(n, "verification_steps") {
		if text, ok := s.value.(string); ok && strings.TrimSpace(text) != "" && len(text) <= maxText {
			f.VerificationSteps = append(f.VerificationSteps, text)
			continue
		}
		p.fault(s.start, "verification_steps: want texts of at most %d bytes", maxText)
	}
	if most := p.maxSteps; most > 0 && len(f.VerificationSteps) > most {
		p.fault(n.get("verification_steps").start, "%d verification steps, the most is %d: split the feature", len(f.VerificationSteps), most)
	}
	for _, d := range p.items(n, "depends_on") {
		f.DependsOn = append(f.DependsOn, agency.FeatureID(p.id(n, d, "depends_on")))
	}
	if f.Status, err = agency.ParseFeatureStatus(p.text(n, "status")); err != nil {
		p.fault(n.get("status").start, "%v", err)
	}
	if e := n.get("evidence"); e != nil { // of another form: somebody else's, and left as it is
		var own agency.FeatureEvidence
		if json.Unmarshal(p.data[e.start:e.end], &own) == nil {
			f.Evidence = &own
		}
	}
	return f
}

// id is a name, or a whole number, which other tools write.
func (p *parser) id(of, n *node, what string) string {
	if n == nil {
		p.fault(of.start, "a feature without an id")
		return ""
	}
	switch v := n.value.(type) {
	case string:
		return v
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE-") {
			return v.String()
		}
	}
	p.fault(n.start, "%s: want a name or a whole number", what)
	return ""
}

// text is a member that is a text; nothing where it is not there or null.
func (p *parser) text(n *node, key string) string {
	v := n.get(key)
	if v == nil || v.kind == 'v' && v.value == nil {
		return ""
	}
	s, ok := v.value.(string)
	if !ok || len(s) > maxText {
		p.fault(v.start, "%s: want a text of at most %d bytes", key, maxText)
	}
	return s
}

func (p *parser) items(n *node, key string) []*node {
	v := n.get(key)
	if v == nil || v.kind == 'v' && v.value == nil {
		return nil
	}
	if v.kind != '[' {
		p.fault(v.start, "%s: want a list", key)
	}
	return v.items
}

// whole checks what concerns several features.
func (p *parser) whole(all []agency.Feature) {
	byFold := map[string]agency.FeatureID{}
	known := map[agency.FeatureID]bool{}
	for i, f := range all {
		if f.ID == "" {
			continue
		}
		fold := strings.ToLower(string(f.ID))
		if first, twice := byFold[fold]; twice {
			p.fault(p.places[i].start, "feature %s: the id is taken by %s", f.ID, first)
		}
		byFold[fold], known[f.ID] = f.ID, true
	}
	for i, f := range all {
		on := p.places[i].get("depends_on")
		for k, d := range f.DependsOn {
			if d != "" && !known[d] {
				p.fault(on.items[k].start, "feature %s depends on %s, which is not in the backlog", f.ID, d)
			}
		}
	}
	if cycle := agency.FeatureCycle(all); cycle != nil {
		for i, f := range all {
			if f.ID == cycle[0] {
				p.fault(p.places[i].start, "features depend on each other in a circle: %s", joined(cycle, " -> "))
				return
			}
		}
	}
}

func joined(ids []agency.FeatureID, sep string) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, sep)
}
