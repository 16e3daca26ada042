package acts

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"agency/internal/race"
)

// A file of the largest size costs what its size says, whatever is in it, and
// little is told of it.
func TestLargeFilesAreJudgedInTime(t *testing.T) {
	if race.Enabled {
		t.Skip("reads much, by the clock")
	}
	many := func(form string) string {
		var b strings.Builder
		for i := 0; b.Len() < maxSize-100; i++ {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	for name, c := range map[string]change{
		"options, each another": {"requirements.txt", absent, many("-i %d\n")},
		"one option":            {"requirements.txt", absent, strings.Repeat("-i\n", maxSize/3)},
		"settings":              {"pyproject.toml", absent, strings.Repeat("a=1\n", maxSize/4)},
		"one value":             {"pyproject.toml", absent, "build-backend=\"\"\"\n" + strings.Repeat("a\n", maxSize/2-20)},
		"a long table":          {"pyproject.toml", absent, "[" + strings.Repeat("a", maxSize/2) + "]\n" + strings.Repeat("a=1\n", maxSize/8-10)},
		"a long key in line":    {"pyproject.toml", absent, strings.Repeat("a", maxSize/2) + "={" + strings.Repeat("b,", maxSize/4-10) + "}"},
		"drivers in a line":     {".gitattributes", absent, strings.Repeat(" filter=a", maxSize/9)},
		"submodules":            {".gitmodules", absent, many("[submodule \"%d\"]\nurl=a\n")},
		"a long section":        {".gitmodules", absent, "[" + strings.Repeat("a", maxSize/2) + "]\n" + strings.Repeat("a=1\n", maxSize/8-10)},
		"keys of a workspace":   {"pnpm-workspace.yaml", absent, strings.Repeat("hooks:\n", maxSize/7)},
		"variables":             {".env", absent, many("PATH=%d\n")},
		"a quote":               {".env", absent, "A='" + strings.Repeat("\n", maxSize-10)},
		"commands":              {".env", absent, many("a %d\n")},
		"open lists":            {"pnpm-workspace.yaml", absent, strings.Repeat("[", maxSize)},
		"yaml, many keys":       {"pnpm-lock.yaml", absent, strings.Repeat("a: b\n", maxLock/5)},
		"yaml, as many as read": {"pnpm-lock.yaml", absent, strings.Repeat("- a\n", maxNodes-10) + "- https://x.example\n"},
		"yaml, long":            {"pnpm-lock.yaml", absent, "a: \"" + strings.Repeat("x ", maxLock/2-100) + "https://x.example\""},
		"yaml, links of links":  {"pnpm-lock.yaml", absent, bomb()},
		"json, lists":           {"package-lock.json", absent, "[" + strings.Repeat("[],", maxLock/3-10) + "\"https://x.example\"]"},
		"json, open lists":      {"package-lock.json", absent, strings.Repeat("[", maxLock)},
		"json, addresses":       {"package-lock.json", absent, "[" + strings.Repeat(`"a://b",`, maxLock/8-10) + `""]`},
		"json, colons":          {"package-lock.json", absent, `"` + strings.Repeat(`a:`, maxLock/2-10) + `"`},
		"json, ats":             {"package-lock.json", absent, `"` + strings.Repeat(`a`, maxLock-100) + `:b"`},
		"json of bun":           {"bun.lock", absent, "[" + strings.Repeat("1,//\n", maxLock/5-20) + `"https://x.example",]`},
		"toml, open lists":      {"uv.lock", absent, "a=" + strings.Repeat("[", maxLock-10)},
		"keys of json":          {"composer.json", absent, `{"` + strings.Repeat("a", maxSize/2) + `":[` + strings.Repeat("1,", maxSize/4-20) + `1]}`},
		"keys of a package":     {"package.json", absent, `{"` + strings.Repeat("a", maxSize/2) + `":[` + strings.Repeat("1,", maxSize/4-20) + `1]}`},
		"keys of toml":          {"pyproject.toml", absent, "[" + strings.Repeat("abcdefghi.", maxKey/10-10) + "b]\n" + strings.Repeat("c=1\n", maxSize/4-maxKey) + "[build-system]\nbuild-backend='x'"},
		"toml, tables":          {"uv.lock", absent, strings.Repeat("[a]\nb='c:d'\n", maxLock/12-10)},
		"toml, long keys":       {"uv.lock", absent, "[" + strings.Repeat("abcdefghi.", maxKey/10-10) + "b]\n" + strings.Repeat("c='d:e'\n", maxLock/8-2*maxKey)},
		"lines of a lock":       {"yarn.lock", absent, strings.Repeat("a:b\n", maxLock/4)},
		"gems":                  {"Gemfile", absent, strings.Repeat("gem 'a', 'b', 'c', x\n", maxSize/21)},
		"projects":              {"a.csproj", absent, strings.Repeat("<Exec>", maxSize/6)},
		"sections":              {"setup.cfg", absent, "cmdclass=\n" + strings.Repeat(" a\n", maxSize/3-10)},
		"lines that go on":      {"gradle.properties", absent, strings.Repeat("a\\\n", maxSize/3)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		does := c.judged()
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		for try := 1; took > 2*time.Second && try < 5; try++ { // other tests have the processors
			start = time.Now()
			c.judged()
			took = min(took, time.Since(start))
		}
		if does == "" && name != "settings" || len(does) > (maxTold+1)*(maxWords+5) {
			t.Errorf("%s: %d bytes are told: %.200s", name, len(does), does)
		}
		if got := after.TotalAlloc - before.TotalAlloc; took > 2*time.Second || got > 300<<20 {
			t.Errorf("%s: %s and %d MB", name, took, got>>20)
		}
	}
}

// bomb is a document of YAML that is far larger where its links are followed.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := range 40 {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9), i)
	}
	return b.String()
}
