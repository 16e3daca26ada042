package jvm

import (
	"strings"
	"sync"

	"agency/internal/code/lexical"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

func source() ecosystem.Source {
	style := lexical.Style{Quotes: `"'`}
	return ecosystem.Source{
		Endings: []string{".java", ".kt", ".kts"},
		Style:   style,
		Tests: ecosystem.Tests{
			IsFile:    isTestFile,
			Framework: ecosystem.Compile(`(?m)^[ \t]*import[ \t]+(?:static[ \t]+)?(?:org\.(?:junit|testng|mockito|assertj|hamcrest)|io\.kotest|kotlin\.test|com\.google\.common\.truth)\b`),
			Units: ecosystem.UnitForms{
				Style:  style,
				Unit:   ecosystem.Compile(`(?m)^[ \t]*(?:@\w+(?:\([^)\n]*\))?\s*)*(?:(?:public|protected|private|internal|open|override|static|final|suspend|fun)\s+)*(?:<[^>\n]*>\s*)?(?:[\w.<>\[\], ?]+\s+)?(?:(\w+)|` + "`([^`\\n]+)`" + `)\s*\([^;{}]*\)\s*(?:throws [\w., ]+|:\s*[\w.<>?]+)?\s*[{=]`),
				Test:   ecosystem.Compile(`@(?:\w*Test\w*|Property|Example|Fuzz\w*)\b|\btest\w*\s*\(`),
				Assert: ecosystem.Compile(`\b(?:\w+\.)*(?:assert\w*|fail|verify\w*|expect\w*|check\w*|should\w*)\s*[({]|\bshould\w+\b|expected\s*=`),
				Skip:   ecosystem.Compile(`@(?:Disabled\w*|Ignore)\b|\bassume\w+\(|enabled\s*=\s*false|\bxit\(|\bxtest\(`),
				Extent: ecosystem.Braces,
			}.Units,
		},
		Forms: ecosystem.Forms{
			Defines:  ecosystem.Compile(`(?m)^[ \t]*(?:(?:public|protected|private|static|final|void|fun|override)[ \t]+)+(?:[\w.<>\[\]]+[ \t]+)?(\w+)[ \t]*\(`),
			Declares: ecosystem.Compile(`(?m)\b(?:class|interface|enum|record)\s+(\w+)|^\s*(?:(?:public|protected|private|static|final|abstract)\s+)+[\w<>\[\],.? ]+\s+(\w+)\s*[(;=]`),
			Yields:   ecosystem.Compile(`\breturn\b[ \t]*[^\s;]`),
			Does:     ecosystem.Compile(`\)\s*(?:throws\s+[\w.,\s]+)?\{|->|\bfun\b`),
			Maybe:    ecosystem.Compile(`\bOptional(?:Int|Long|Double|\s*<[^()]*>)\s+\w+\s*\(`),
			Silences: ecosystem.Compile(`@(?:file:)?Suppress(?:Warnings|FBWarnings)?\s*\([^)]*\)|//\s*(?:NOSONAR|NOPMD|noinspection|CHECKSTYLE[:.]\s*OFF|ktlint-disable)[^\n]*`),
			Warns:    true,
			Marks:    textMarks,
		},
		Names: ecosystem.Names{By: ecosystem.ByStem},
		Files: ecosystem.Files{
			Manifests: []string{"pom.xml", "build.gradle", "build.gradle.kts"},
			Locks:     []string{"gradle.lockfile"},
			Settings: []string{
				"junit-platform.properties", "testng.xml", "gradle.properties", "maven.config", "jvm.config", "gradle-wrapper.*", "maven-wrapper.*",
				"extensions.xml", "checkstyle*.xml", "pmd*.xml", "detekt*.yml", "services/org.junit.*", "buildSrc/",
			},
			Parts:   []ecosystem.SettingsFile{{Glob: "pom.xml", Parts: elements}, {Glob: "*.gradle", Parts: script}, {Glob: "*.gradle.kts", Parts: script}},
			Remains: map[string]string{"*.class": "a build's output"},
		},
	}
}

func isTestFile(p string) bool {
	stem := ecosystem.Stem(p)
	return ecosystem.UnderFolder(p, "test", "androidTest", "integrationTest") || strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") ||
		strings.HasSuffix(stem, "IT") || strings.HasSuffix(stem, "Spec")
}

// textMarks are those of Kotlin, whose syntax is not read.
var textMarks = sync.OnceValue(func() []ecosystem.Mark {
	re := regexp.MustCompile
	return []ecosystem.Mark{
		{Form: re(`\boverride\s+fun\s+equals\s*\([^)]*\)\s*(?::\s*Boolean\s*)?(?:=\s*true\b|\{\s*return\s+true\b)`), Word: "equals what it is compared with", Tests: true},
		{Form: re(`\bSystem\.exit\b|\bexitProcess\b|\.halt\s*\(`), Word: "ends the process", Tests: true},
		{Form: re(`\borg\.(?:junit|testng|mockito|assertj|hamcrest)\b|\bsurefire\b|\bjava\.class\.path\b`), Word: "knows the test runner"},
		{Form: re(`\bgetStackTrace\b|\bstackTrace\b|\bStackWalker\b`), Word: "looks at its callers"},
		{Form: re(`\baddShutdownHook\b|\bsetSecurityManager\b`), Word: "acts at the process's end", Tests: true},
	}
})
