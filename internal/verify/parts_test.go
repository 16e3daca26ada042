package verify

import (
	"strings"
	"testing"
	"time"

	"agency/internal/race"
)

// A manifest of the largest size is taken apart in time.
func TestLargeManifestsAreTakenApartInTime(t *testing.T) {
	if race.Enabled {
		t.Skip("reads much, by the clock")
	}
	const size = 4 << 20
	fill := func(begin, s string) string { return begin + strings.Repeat(s, size/len(s)) }
	for p, text := range map[string]string{
		"pyproject.toml":   fill("[tool.pytest]\n", "a\n"),
		"go.mod":           fill("replace (\n", "a => b\n"),
		"package.json":     fill(`{"scripts":[`, `{"":0},`) + "0]}",
		"pom.xml":          fill("<project>", "<properties>"),
		"a/setup.py":       fill("", "version='1',"),
		"web/build.gradle": fill("", "dependencies {\n"),
	} {
		start := time.Now()
		changedPart(p, []byte("x"), []byte(text))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: %s", p, took)
		}
	}
}
