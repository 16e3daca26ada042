package secretscan

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// All expressions compile as they are read, and none is without what tells where to look.
func TestRules(t *testing.T) {
	all := rules()
	if len(all.Rules) < 200 || len(all.Allow) == 0 {
		t.Fatalf("%d rules, %d lists", len(all.Rules), len(all.Allow))
	}
	for i := range all.Rules {
		r := &all.Rules[i]
		if r.Regex == nil && r.Path == nil {
			t.Errorf("%s looks at nothing", r.ID)
		}
		if r.Regex != nil && r.Group >= len(r.Regex.SubexpNames()) {
			t.Errorf("%s: no group %d", r.ID, r.Group)
		}
	}
}

// The forms that a rule may have: keywords, entropy, the group of the secret, lists that
// allow by path, by expression, by word, and rules of a path. The secrets are put together
// here so that no scanner takes this file for one that leaks.
func TestLeaks(t *testing.T) {
	dapi := "dap" + "i" + "f13ac4b49d1cb31f69f678e39602e381"
	for name, tt := range map[string]struct{ path, text, want string }{
		"a provider's":       {"a.go", "x\nvar t = \"" + dapi + "\"\n", "[databricks-api-token:8]"},
		"too plain":          {"a.go", "var t = \"dap" + "i" + strings.Repeat("0", 32) + "\"\n", "[]"},
		"generic":            {"a.py", "api_key = \"" + "zq8Xv3Lp0" + "Rt6Yw2Nd5Ks9Bm1" + "\"\n", "[generic-api-key:7]"},
		"a word in it":       {"a.py", "api_key = \"zq8Xv3Lp0" + "authentication" + "Rt6Yw2Nd5Ks9\"\n", "[]"},
		"a lockfile":         {"package-lock.json", "\"" + dapi + "\"\n", "[]"},
		"asked to be quiet":  {"a.go", "var t = \"" + dapi + "\" // gitleaks:allow\n", "[databricks-api-token:7]"},
		"by its path":        {"keys/a.p12", "binary", "[pkcs12-file:0]"},
		"nothing of a key":   {"a.go", "x := 1\n", "[]"},
		"a variable in curl": {"a.sh", "curl -u user:$" + "PASSWORD https://x\n", "[]"},
	} {
		var got []string
		for _, l := range Leaks(tt.path, tt.text, 7) {
			got = append(got, fmt.Sprintf("%s:%d", l.Rule, l.Line))
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s: %v, want %s", name, got, tt.want)
		}
	}
}

// A text that is made for it takes no longer than its size.
func TestLeaksAreBounded(t *testing.T) {
	started := time.Now()
	Leaks("a.txt", strings.Repeat("key token secret api_key = password: ", 512<<10/38), 1)
	if took := time.Since(started); took > time.Minute {
		t.Errorf("it took %s", took)
	} else {
		t.Logf("half a megabyte of keywords: %s", took)
	}
}
