package jvm

import (
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// dependencies is the block of a Gradle file that may change.
var dependencies = ecosystem.Compile(`(?ms)^\s*dependencies\s*\{.*?^\s*\}`)

// script is a Gradle file, a program.
func script(src []byte) map[string]string {
	return ecosystem.Program(dependencies.ReplaceAll(src, nil))
}

// pomParts are the elements of a Maven project that decide how tests run.
var pomParts = []string{"build", "profiles", "properties", "parent", "modules", "reporting"}

// testProperty is a property that decides whether or how tests run.
var testProperty = ecosystem.Compile(`(?s)<([\w.-]*(?i:skip|surefire|failsafe|argLine|includes|excludes|groups)[\w.-]*)>[^<]*</`)

// elements are these, as they stand.
func elements(src []byte) map[string]string {
	out := map[string]string{}
	for _, name := range pomParts {
		form := regexp.MustCompile(`(?s)<` + name + `>.*?</` + name + `>`)
		var all []string
		for _, m := range form.FindAllString(string(src), -1) {
			if name == "properties" { // mostly versions
				m = strings.Join(testProperty.FindAllString(m, -1), " ")
			}
			if m = strings.Join(strings.Fields(m), " "); m != "" {
				all = append(all, m)
			}
		}
		if len(all) > 0 {
			out[name] = strings.Join(all, "\n")
		}
	}
	return out
}
