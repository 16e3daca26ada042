package golang

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

func source() ecosystem.Source {
	return ecosystem.Source{
		Endings: []string{".go"},
		Tests: ecosystem.Tests{
			IsFile:    func(p string) bool { return strings.HasSuffix(ecosystem.Stem(p), "_test") },
			Import:    `"testing"`,
			Folders:   ecosystem.Compile(`^[a-z0-9]+test$`),
			Framework: ecosystem.Compile(`"(?:testing|github\.com/(?:stretchr/testify/\w+|onsi/\w+))"`),
			Units:     codeUnits,
			Typed:     true,
			Words:     words,
		},
		Forms: ecosystem.Forms{
			Defines:      ecosystem.Compile(`(?m)^func\s+(\w+)\s*[(\[]|\b(\w+)\s*:?=\s*func\b|\bvar\s+(\w+)\b[^=\n]*=\s*func\b`),
			Declarations: declarations,
			Does:         ecosystem.Compile(`\bfunc\b`),
			Maybe:        ecosystem.Compile(`,\s*(?:\w+\s+)?bool\s*\)\s*\{?\s*$`),
			Silences:     ecosystem.Compile(`//\s*(?:nolint\b|lint:(?:file-)?ignore\b|#nosec\b|gosec:disable|nosemgrep|revive:disable)[^\n]*`),
		},
		Names:    ecosystem.Names{By: ecosystem.ByFolder},
		Packages: ecosystem.Packages{Form: listForm, Affected: affected},
		Files: ecosystem.Files{
			Manifests: []string{"go.mod"},
			Locks:     []string{"go.sum"},
			Settings:  []string{"go.work", "staticcheck.conf", ".golangci.*", ".gotestsum.yaml"},
			Recipes:   []string{"magefile.go"},
			Parts:     []ecosystem.SettingsFile{{Glob: "go.mod", Parts: directives}},
			Remains:   map[string]string{"*.prof": "a profile"},
		},
	}
}

// declarations are the names that a source declares for others to use.
func declarations(src []byte) (out []string) {
	file, _ := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if file == nil {
		return nil
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			out = append(out, d.Name.Name)
		case *ast.GenDecl:
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					out = append(out, n.Name.Name)
				case *ast.ValueSpec:
					for _, name := range n.Names {
						out = append(out, name.Name)
					}
				case *ast.Field:
					for _, name := range n.Names {
						out = append(out, name.Name)
					}
				case *ast.FuncLit:
					return false
				}
				return true
			})
		}
	}
	return out
}

// words are what a source says, without its comments.
func words(src string) (out []string) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(src)), []byte(src), nil, 0)
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return out
		case tok == token.SEMICOLON:
			continue
		case lit == "":
			lit = tok.String()
		}
		out = append(out, lit)
	}
}

// directives are the directives of a go.mod that decide with what it is built,
// also where they stand in a block.
func directives(src []byte) map[string]string {
	out := ecosystem.Texts{}
	wanted := regexp.MustCompile(`^(replace|toolchain|godebug|tool|exclude)\b|=>`)
	block := ""
	for line := range strings.Lines(string(src)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == ")":
			block = ""
		case len(words) == 2 && words[1] == "(":
			block = words[0]
		case wanted.MatchString(block) || wanted.MatchString(line):
			name := words[0]
			if block != "" {
				name = block
			} else if !wanted.MatchString(name) {
				name = "replace"
			}
			out.Add(name, strings.Join(words, " ")+"\n")
		}
	}
	return out.All()
}
