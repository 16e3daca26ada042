package detect

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"agency/internal/bounded/boundedtest"
	"agency/internal/ecosystem"
	"agency/internal/race"
)

func packages(t *testing.T, name, from, to string) []ecosystem.Package {
	t.Helper()
	out, whole := Packages(name, []byte(from), []byte(to))
	if !whole {
		t.Errorf("%s is not whole", name)
	}
	return out
}

// A manifest of the largest size is read in time and within what the host may hold
// of it, whatever is in it, and what is too much is told.
func TestLargeManifestsAreReadInTime(t *testing.T) {
	if race.Enabled {
		t.Skip("reads much, by the clock")
	}
	const size = 4 << 20
	fill := func(begin, form, end string) []byte {
		var b strings.Builder
		b.WriteString(begin)
		for i := 0; b.Len() < size-2048; i++ {
			b.WriteString(strings.ReplaceAll(form, "%", strings.Repeat("x", i%7)+strconv.Itoa(i)))
		}
		return []byte(b.String() + end)
	}
	for what, tt := range map[string]struct {
		file string
		text []byte
	}{
		"lines":             {"requirements.txt", fill("", "p%==1\n", "")},
		"versions of one":   {"requirements.txt", fill("", "p==%\n", "")},
		"dependencies":      {"package.json", fill(`{"dependencies":{`, `"p%":"1",`, `"p":"1"}}`)},
		"small objects":     {"package-lock.json", fill(`{"packages":{"":[`, `{"":0},`, `{}]}}`)},
		"empty objects":     {"package-lock.json", fill(`{"packages":{`, `"%":{},`, `"":{}}}`)},
		"packages":          {"package-lock.json", fill(`{"packages":{`, `"node_modules/p%":{"version":"1"},`, `"":{}}}`)},
		"old packages":      {"package-lock.json", fill(`{"dependencies":{`, `"p%":{"version":"1"},`, `"":{}}}`)},
		"composer":          {"composer.lock", fill(`{"packages":[`, `{"name":"p%"},`, `{}]}`)},
		"pipfile":           {"Pipfile.lock", fill(`{"default":{`, `"p%":{"a":1},`, `"":{}}}`)},
		"tables":            {"Cargo.toml", fill("", "[a]\n", "")},
		"crates":            {"Cargo.toml", fill("[dependencies]\n", "d%=\"1\"\n", "")},
		"a list":            {"pyproject.toml", fill("[project]\ndependencies = [", `"%",`, "]\n")},
		"sums":              {"go.sum", fill("", "a.b/c% v1 h1:\n", "")},
		"locked":            {"Cargo.lock", fill("", "[[package]]\nname = \"a%\"\nversion = \"1\"\n", "")},
		"maven":             {"pom.xml", fill("<project><dependencies>", "<dependency/>", "</dependencies></project>")},
		"maven properties":  {"pom.xml", fill("<project><properties>", "<a%>b</a%>", "</properties></project>")},
		"maven's expansion": {"pom.xml", fill("<project><properties><a>"+strings.Repeat("b", 1<<20)+"</a></properties><parent><version>", "${a}", "</version></parent></project>")},
		"maven marks":       {"pom.xml", fill("<project>", "<a/>", "</project>")},
	} {
		var list []ecosystem.Package
		var whole bool
		held, took := boundedtest.Cost(20*time.Millisecond, func() { list, whole = Packages(tt.file, nil, tt.text) })
		t.Logf("%s: %d packages, whole %v, %s and %d MB", what, len(list), whole, took, held>>20)
		if whole && what != "small objects" && what != "empty objects" && what != "tables" || len(list) > ecosystem.MaxListed {
			t.Errorf("%s: %d packages, and nothing is told of more", what, len(list))
		}
		if held > 64<<20 || took > 4*time.Second {
			t.Errorf("%s: %s and %d MB", what, took, held>>20)
		}
		if hosts := HostsIn("yarn.lock", fill("", "https://h%.example/\n", "")); len(hosts) != maxHosts {
			t.Errorf("%d hosts", len(hosts))
		}
	}
}
