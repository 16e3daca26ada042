package rehearsal

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"agency/internal/agency"
)

// Script is a decoded and checked script.
type Script struct {
	name  string
	seed  uint64
	rules []rule
	// counts says that a rule looks at what has been played before.
	counts bool
}

//go:embed default.yaml
var defaultScript []byte

// MaxScript is the largest script, in bytes: room for whole files in args.
const MaxScript = 8 << 20

// Default is the embedded script: a generalist that looks at any repository,
// runs its tests and says honestly that it cannot do more.
func Default() (*Script, error) { return Parse("default.yaml", defaultScript) }

// Name is the script's own name.
func (s *Script) Name() string { return s.name }

// Parse decodes a script strictly. Errors are of KindInvalid, name file, line
// and column and show the line with a caret.
func Parse(file string, data []byte) (*Script, error) {
	if len(data) > MaxScript {
		return nil, agency.Errorf(agency.KindInvalid, "%s: larger than %d bytes", file, MaxScript)
	}
	s, err := parse(data)
	if err != nil {
		return nil, agency.Errorf(agency.KindInvalid, "%s", at(file, data, err))
	}
	return s, nil
}

func parse(data []byte) (s *Script, err error) {
	// The decoder indexes into token lists that odd input leaves empty; a
	// panic on somebody's file is an error of that file.
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("not readable as YAML: %v", p)
		}
	}()
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, err
	}
	if err := oneDocument(tree); err != nil {
		return nil, err
	}
	var file scriptFile
	if err := yaml.NodeToValue(tree.Docs[0].Body, &file, yaml.Strict()); err != nil {
		return nil, err
	}
	return file.compile(tree.Docs[0].Body)
}

// oneDocument refuses what a script has no use for. Aliases are among it: a
// few lines of them unfold to gigabytes.
func oneDocument(tree *ast.File) error {
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return errors.New("the script is empty")
	}
	if len(tree.Docs) > 1 && tree.Docs[1].Body != nil {
		return wrong(tree.Docs[1].Body, "a script is one document")
	}
	if tree.Docs[0].Body.Type() != ast.MappingType {
		return wrong(tree.Docs[0].Body, "a script is a mapping with version and rules")
	}
	v := &aliasFinder{}
	ast.Walk(v, tree.Docs[0].Body)
	return v.err
}

type aliasFinder struct{ err error }

func (f *aliasFinder) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AliasType, ast.AnchorType, ast.MergeKeyType:
		f.err = wrong(n, "anchors, aliases and merge keys are not supported in scripts")
		return nil
	}
	return f
}

// wrong is an error at a place of the script.
func wrong(n ast.Node, format string, args ...any) error {
	e := &yaml.SyntaxError{Message: fmt.Sprintf(format, args...)}
	switch m := n.(type) {
	case nil:
		return e
	case *ast.MappingNode:
		if len(m.Values) > 0 {
			n = m.Values[0].Key // the mapping's own token is its first colon
		}
	case *ast.MappingValueNode:
		n = m.Key
	}
	e.Token = n.GetToken()
	return e
}

// at prints an error with its place, the line and a caret.
func at(file string, data []byte, err error) string {
	var placed yaml.Error
	if !errors.As(err, &placed) || placed.GetToken() == nil || placed.GetToken().Position == nil {
		return file + ": " + firstLine(err.Error())
	}
	pos := placed.GetToken().Position
	return fmt.Sprintf("%s:%d:%d: %s%s", file, pos.Line, pos.Column, firstLine(placed.GetMessage()), snippet(data, pos))
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// snippetLimit keeps a line of a script that holds a whole file readable.
const snippetLimit = 160

func snippet(data []byte, pos *token.Position) string {
	lines := strings.Split(string(data), "\n")
	if pos.Line < 1 || pos.Line > len(lines) || pos.Column < 1 || pos.Column > snippetLimit {
		return ""
	}
	line := []rune(strings.ReplaceAll(strings.TrimRight(lines[pos.Line-1], "\r"), "\t", " "))
	line = line[:min(len(line), snippetLimit)]
	return fmt.Sprintf("\n    %s\n    %s^", string(line), strings.Repeat(" ", pos.Column-1))
}
