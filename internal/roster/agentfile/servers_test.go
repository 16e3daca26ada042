package agentfile

import "testing"

// A file that names tools has of a server those that it names, and none that it forbids.
func TestServerTools(t *testing.T) {
	for _, tt := range []struct {
		head, tool string
		may, asks  bool // of the tool, of the server docs
	}{
		{"", "mcp__docs__find", true, true},
		{"tools: Read\n", "mcp__docs__find", false, false},
		{"tools: [Read, mcp__docs__find]\n", "mcp__docs__find", true, true},
		{"tools: [Read, mcp__docs__find]\n", "mcp__docs__finder", false, true},
		{"tools: mcp__docs\n", "mcp__docs__find", true, true},
		{"tools: mcp__docs\n", "mcp__docs2__find", false, true},
		{"tools: 'mcp__do*'\n", "mcp__docs__find", true, true},
		{"tools: 'mcp__docs__f*'\n", "mcp__docs__get", false, true},
		{"tools: mcp__wiki__find\n", "mcp__docs__find", false, false},
		{"tools: 'mcp__docs__find(x)'\n", "mcp__docs__find", false, false},
		{"tools: '*'\n", "mcp__docs__find", true, true},
		{"disallowedTools: mcp__docs__find\n", "mcp__docs__find", false, true},
		{"disallowedTools: mcp__docs\n", "mcp__docs__find", false, true},
		{"disallowedTools: 'mcp__docs__find(x)'\n", "mcp__docs__find", false, true},
		{"disallowedTools: mcp__docs__get\n", "mcp__docs__find", true, true},
		{"disallowedTools: '*'\n", "mcp__docs__find", false, false},
		{"tools: {mcp__docs__find: false}\n", "mcp__docs__find", false, true},
		{"tools: {'*': false, mcp__docs__find: true}\n", "mcp__docs__find", true, true},
	} {
		f, err := Parse("x.md", []byte("---\nname: x\n"+tt.head+"---\nLook.\n"))
		if err != nil {
			t.Fatal(err)
		}
		if may, asks := f.MayUse(tt.tool), f.AsksServer("docs"); may != tt.may || asks != tt.asks {
			t.Errorf("%q and %s: %v, asks the server: %v", tt.head, tt.tool, may, asks)
		}
	}
}
