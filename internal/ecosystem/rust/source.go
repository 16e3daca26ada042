package rust

import (
	"agency/internal/code/lexical"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

func source() ecosystem.Source {
	style := lexical.Style{Quotes: `"`, Long: true} // ' begins lifetimes too
	return ecosystem.Source{
		Endings: []string{".rs"},
		Style:   style,
		Tests: ecosystem.Tests{
			IsFile: func(p string) bool {
				return ecosystem.UnderFolder(p, "tests", "benches") || ecosystem.Stem(p) == "tests"
			},
			Beside:    true,
			Framework: ecosystem.Compile(`\b(?:proptest|quickcheck|rstest|mockall|pretty_assertions)::`),
			Units: ecosystem.UnitForms{
				Style: style,
				Unit: ecosystem.Compile(`#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|proptest)\b[^\]]*\](?:\s*(?:#\[[^\]]*\]|//[^\n]*))*\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(\w+)` +
					`|(?m)^(?:[ ]{0,4}|\t)(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(\w+)`),
				Test:   ecosystem.Compile(`^#\[`),
				Assert: ecosystem.Compile(`\b(?:debug_)?assert\w*!|\bpanic!|\bprop_assert\w*!|\bunreachable!|should_panic`),
				Skip:   ecosystem.Compile(`#\[ignore\b|cfg_attr\([^)]*ignore`),
				Extent: ecosystem.Braces,
			}.Units,
		},
		Forms: ecosystem.Forms{
			Defines:  ecosystem.Compile(`\bfn\s+(\w+)|\bmacro_rules!\s*(\w+)|\blet\s+(\w+)\s*=\s*(?:move\s*)?\|`),
			Declares: ecosystem.Compile(`(?m)\b(?:fn|struct|enum|trait|type|const|static|mod)\s+(\w+)|^\s*(?:pub(?:\([^)]*\))?\s+)?([a-z_]\w*)\s*:\s*[&\w(\[]`),
			Yields:   ecosystem.Compile(`->`),
			Does:     ecosystem.Compile(`\bfn\b|\bmacro_rules\b`),
			Maybe:    ecosystem.Compile(`->\s*(?:\w+::)*(?:Option|Result)\s*<`),
			Silences: ecosystem.Compile(`#!?\[\s*(?:allow|expect)\s*\([^\]]*\]|#!?\[\s*cfg_attr\([^\]]*\b(?:allow|expect)\s*\([^\]]*\]`),
			Warns:    true,
		},
		Names: ecosystem.Names{By: ecosystem.ByStem},
		Files: ecosystem.Files{
			Manifests: []string{"Cargo.toml"},
			Locks:     []string{"Cargo.lock"},
			Settings:  []string{"rust-toolchain", "rust-toolchain.toml", "clippy.toml", ".clippy.toml", "nextest.toml", ".cargo/config*"},
			Parts: []ecosystem.SettingsFile{
				{Glob: "Cargo.toml", Parts: func(src []byte) map[string]string {
					return ecosystem.Tables(src, regexp.MustCompile(`^(lib|test|bench|bin|example|profile|lints|workspace\.lints|patch|features)\b`))
				}},
				{Glob: "build.rs", New: true, Parts: ecosystem.Program},
			},
		},
	}
}
