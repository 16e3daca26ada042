package lsp

import (
	"strings"

	"agency/internal/code"
)

// kind is a sort of server. Its lines are those of a shell: each starts the server where it is
// installed, and else goes on to the next.
type kind struct {
	name      string
	languages map[code.Language]string // as the protocol calls them
	lines     []string
	programs  []string // that the lines look for in PATH
	env       []string
	options   map[string]any // of initialize
	settings  map[string]any // by section, where it asks for them
	// quiet: it says of itself when it has read the project (experimental/serverStatus).
	quiet bool
}

// kinds are those that are known. What a project brings itself comes before what is installed
// beside it.
var kinds = []*kind{
	{
		name:      "pyright",
		languages: map[code.Language]string{code.Python: "python"},
		lines:     []string{run("pyright-langserver", "--stdio"), run("basedpyright-langserver", "--stdio")},
		programs:  []string{"pyright-langserver", "basedpyright-langserver"},
		settings: map[string]any{"python.analysis": map[string]any{
			"diagnosticMode": "openFilesOnly", "autoSearchPaths": true, "useLibraryCodeForTypes": true,
		}},
	},
	{
		name: "typescript",
		languages: map[code.Language]string{
			code.TypeScript: "typescript", code.TSX: "typescriptreact", code.JavaScript: "javascript",
		},
		lines: []string{
			`case "$(tsc --version 2>/dev/null)" in "Version "[7-9].*|"Version "[1-9][0-9].*) exec tsc --lsp --stdio;; esac`,
			run("typescript-language-server", "--stdio"),
		},
		programs: []string{"typescript-language-server"},
		options:  map[string]any{"disableAutomaticTypingAcquisition": true, "preferences": map[string]any{"providePrefixAndSuffixTextForRename": true}},
	},
	{
		name:      "clangd",
		languages: map[code.Language]string{code.C: "c", code.CPP: "cpp"},
		// What is shown of a header counts for whoever includes it, which older ones cannot do.
		lines:    []string{`case "$(clangd --help-hidden 2>/dev/null)" in *--use-dirty-headers*) ` + clangd + ` --use-dirty-headers;; esac`, `command -v clangd >/dev/null 2>&1 && ` + clangd},
		programs: []string{"clangd"},
	},
	{
		name:      "rust-analyzer",
		languages: map[code.Language]string{code.Rust: "rust"},
		// A proxy of rustup is there whether or not its toolchain has one.
		lines:    []string{"rust-analyzer --version >/dev/null 2>&1 && " + run("rust-analyzer", "")},
		programs: []string{"rust-analyzer"},
		env:      []string{"CARGO_TARGET_DIR=/tmp/rust-analyzer", "CARGO_NET_OFFLINE=true"},
		options: map[string]any{
			"checkOnSave": false, "procMacro": map[string]any{"enable": false},
			"cargo": map[string]any{"buildScripts": map[string]any{"enable": false}},
		},
		quiet: true,
	},
	{
		name:      "jdtls",
		languages: map[code.Language]string{code.Java: "java"},
		lines:     []string{run("jdtls", "-data /tmp/jdtls")},
		programs:  []string{"jdtls"},
	},
}

const clangd = "exec clangd --background-index -j=2 --pch-storage=memory --log=error"

func run(program string, args ...string) string {
	return "command -v " + program + " >/dev/null 2>&1 && exec " + strings.TrimSpace(program+" "+strings.Join(args, " "))
}

func kindOf(l code.Language) *kind {
	for _, k := range kinds {
		if k.languages[l] != "" {
			return k
		}
	}
	return nil
}

// Programs are those that may be the server of a language, as they are called in PATH.
func Programs(l code.Language) []string {
	if k := kindOf(l); k != nil {
		return k.programs
	}
	return nil
}

// argv finds and starts the server inside of the sandbox: what commands see there alone
// decides which one it is.
func (k *kind) argv(at string) []string {
	lines := append([]string{`cd "$0" || exit 1`, `PATH="$PWD/node_modules/.bin:$PWD/.venv/bin:$PATH"`}, k.lines...)
	return []string{"/bin/sh", "-c", strings.Join(append(lines, "exit 127"), "\n"), at}
}
