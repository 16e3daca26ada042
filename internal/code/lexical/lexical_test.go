package lexical

import "testing"

func TestBare(t *testing.T) {
	for name, tt := range map[string]struct {
		style     Style
		text      string
		bare      string
		commented string
	}{
		"of C":           {Style{}, "a = \"b\" // c\n/* d\ne */ f", "a = \" \"     \n    \n     f", "a = \"b\"     \n    \n     f"},
		"a lone quote":   {Style{}, "don't\nf(`\n//`)", "don' \nf(`\n  `)", "don't\nf(`\n//`)"},
		"three quotes":   {Style{}, "\"\"\"\n// \"\"\" 'x'", "\"\"\"\n   \"\"\" ' '", "\"\"\"\n// \"\"\" 'x'"},
		"of Python":      {Style{Line: "#", Lines: true, Quotes: `"'`, Tripled: `"'`}, "'''#''' # x\na /* b", "''' '''    \na /* b", "'''#'''    \na /* b"},
		"over lines":     {Style{Quotes: `"`, Long: true}, "<'a> \"b\n//\" // c", "<'a> \" \n  \"     ", "<'a> \"b\n//\"     "},
		"never closed":   {Style{}, "a /* b\n", "a     \n", "a     \n"},
		"an escape last": {Style{}, `"\`, `" `, `"\`},
	} {
		if got := tt.style.Bare(tt.text); got != tt.bare {
			t.Errorf("%s: bare %q, want %q", name, got, tt.bare)
		}
		if got := tt.style.Uncommented(tt.text); got != tt.commented {
			t.Errorf("%s: uncommented %q, want %q", name, got, tt.commented)
		}
	}
}
