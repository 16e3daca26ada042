package config

import (
	"strings"
	"testing"
	"time"
)

// The same wish, in every form that YAML has for it, is the same wish: it is
// seen, and has one hash. Forms that this program does not read are refused as
// a whole; none is read as something smaller.
func TestEveryFormOfAWishIsSeen(t *testing.T) {
	const plain = "sandbox:\n  mode: \"off\"\n  allow_hosts: [a.org]\n"
	want := load(t, repoInput(plain))
	if len(want.Widenings) != 2 {
		t.Fatal(want.Widenings)
	}
	read := map[string]string{
		"flow":                    `sandbox: {mode: 'off', allow_hosts: [a.org]}`,
		"json":                    `{"sandbox": {"mode": "off", "allow_hosts": ["a.org"]}}`,
		"plain off":               "sandbox: {mode: off, allow_hosts: [a.org]}",
		"quoted keys":             "'sandbox':\n  \"mode\": 'off'\n  'allow_hosts':\n  - \"a.org\"\n",
		"escapes":                 `"\u0073andbox": {"\x6dode": "\u006f\x66f", "allow\u005fhosts": ["a\x2eorg"]}`,
		"long escapes":            `"\U00000073andbox": {mode: "\U0000006fff", allow_hosts: ["a.org"]}`,
		"literal":                 "sandbox:\n  mode: |-\n    off\n  allow_hosts: [a.org]\n",
		"folded":                  "sandbox:\n  mode: >-\n    off\n  allow_hosts:\n    - >-\n      a.org\n",
		"crlf and mark":           "\xef\xbb\xbfsandbox:\r\n  mode: 'off'\r\n  allow_hosts: [a.org]\r\n",
		"document marks":          "---\nsandbox: {mode: 'off', allow_hosts: [a.org]}\n...\n",
		"comments":                "# mode: full\nsandbox: # {mode: full}\n  mode: 'off' # full\n  allow_hosts: # []\n    - a.org # b.org\n",
		"spread flow":             "sandbox: {\n  mode:\n    'off'\n  , allow_hosts:\n    [\n a.org\n , ]\n}\n",
		"alias of a value":        "shared_writes: [&h a.org]\nsandbox: {mode: 'off', allow_hosts: [*h]}\n",
		"alias of a list":         "shared_writes: &h [a.org]\nsandbox: {mode: 'off', allow_hosts: *h}\n",
		"anchor in place":         "sandbox: &s {mode: &m 'off', allow_hosts: &h [&e a.org]}\n",
		"spaces before the colon": "sandbox : {mode : 'off', allow_hosts : [a.org]}\n",
		"order":                   "sandbox: {allow_hosts: [a.org], mode: 'off'}\nversion: 1\n",
	}
	for name, text := range read {
		seen(t, name, text, want, true)
	}
	refused := map[string]string{
		"directive":        "%YAML 1.2\n---\nsandbox: {mode: 'off', allow_hosts: [a.org]}\n",
		"explicit keys":    "? sandbox\n: {mode: 'off', allow_hosts: [a.org]}\n",
		"tag on a value":   "sandbox: {mode: !!str off, allow_hosts: [a.org]}",
		"tag on a mapping": "sandbox: !!map {mode: 'off', allow_hosts: [a.org]}",
		"own tag":          "sandbox: !x {mode: 'off', allow_hosts: [a.org]}",
		"twice":            "sandbox: {mode: full}\nsandbox: {mode: 'off', allow_hosts: [a.org]}",
		"twice in it":      "sandbox: {mode: 'off', mode: full, allow_hosts: [a.org]}",
		"twice, escaped":   "sandbox: {mode: full}\n\"\\u0073andbox\": {mode: 'off', allow_hosts: [a.org]}",
		"twice, quoted":    "sandbox: {mode: full, \"mode\": 'off', allow_hosts: [a.org]}",
		"two documents":    "mode: single\n---\nsandbox: {mode: 'off', allow_hosts: [a.org]}",
		"second document":  "---\n---\nmode: single\n---\nsandbox: {mode: 'off'}\n",
		"list at the top":  "- sandbox: {mode: 'off', allow_hosts: [a.org]}",
		"key as a list":    "[sandbox]: {mode: 'off', allow_hosts: [a.org]}",
		"alias as a key":   "branch_prefix: &k sandbox\n*k : {mode: 'off', allow_hosts: [a.org]}",
		"upper case":       "Sandbox: {mode: 'off'}",
		"a space more":     "\"sandbox \": {mode: 'off'}",
		"another s":        "ѕandbox: {mode: 'off'}",
		"a mark within":    "\"sand\u200bbox\": {mode: 'off'}",
		"wrong case":       "sandbox: {mode: OFF}",
		"a bool":           "sandbox: {mode: false}",
		"unknown alias":    "sandbox: {mode: *m}",
		"dotted":           "sandbox.mode: 'off'",
		"merge of text":    "sandbox: {<<: 'mode', allow_hosts: [a.org]}",
		"carriage returns": "# x\rsandbox: {mode: 'off'}",
		"line separator":   "# x\u2028sandbox: {mode: 'off'}\n\u0085mode: single",
		"control":          "sandbox: {mode: \"o\\x00ff\"}",
	}
	for name, text := range refused {
		seen(t, name, text, want, false)
	}
}

// seen wants a text to be read as the wish, or where it need not be read to be
// refused or read as the wish.
func seen(t *testing.T, name, text string, want *Loaded, mustRead bool) {
	t.Helper()
	l, err := Load(repoInput(text))
	switch {
	case err != nil && mustRead:
		t.Errorf("%s: %v", name, err)
	case err == nil && !mustRead:
		t.Errorf("%s: read, with mode %s and %v", name, l.Config.Sandbox.Mode, l.Widenings)
	case err == nil && l.TrustHash() != want.TrustHash():
		t.Errorf("%s: another hash, %v", name, l.Widenings)
	}
}

// Merge keys bring wishes in like any others; what stands beside them wins, and
// so does what stands first of several.
func TestMergedWishesAreSeen(t *testing.T) {
	for text, want := range map[string]string{
		"mcp:\n  a: &a {command: [x], roles: [reviewer]}\n  b: {<<: *a}\n":                                        "mcp.a mcp.b",
		"agents:\n  cleanup: &a {runtime: claude}\n  reviewer: {<<: *a, runtime: native}\n":                       "agents.cleanup.runtime",
		"agents:\n  cleanup: &a {runtime: claude}\n  overseer: &b {runtime: codex}\n  reviewer: {<<: [*a, *b]}\n": "agents.cleanup.runtime agents.overseer.runtime agents.reviewer.runtime",
		"providers:\n  x: &x {type: openai, base_url: 'http://h/v1', api_key: '${K}'}\n  openai: {<<: *x}\n":      "providers.openai.base_url providers.openai.api_key providers.x",
		"providers:\n  x: &x {type: openai, base_url: 'http://h/v1', api_key: '${K}'}\n  openai: {\"<<\": *x}\n":  "",
		"sandbox:\n  <<: {mode: 'off'}\n":                                                                                    "sandbox.mode",
		"<<: {sandbox: {mode: 'off'}}\n":                                                                                     "sandbox.mode",
		"<<: [{sandbox: {mode: full}}, {sandbox: {mode: 'off'}}]\n":                                                          "",
		"<<: [{sandbox: {mode: 'off'}}, {sandbox: {mode: full}}]\n":                                                          "sandbox.mode",
		"agents:\n  cleanup: &a {runtime: claude}\n  reviewer: {<<: {<<: *a}}\n":                                             "agents.cleanup.runtime agents.reviewer.runtime",
		"agents:\n  cleanup: &a {runtime: claude}\n  reviewer: *a\n  producer: *a\n":                                         "agents.cleanup.runtime agents.reviewer.runtime agents.scaffolder.runtime",
		"notify: &n [{type: webhook, url: 'https://evil.org/x'}]\nshared_writes: [x]\n":                                      "notify[0]",
		"agents:\n  cleanup: &a {runtime: native}\n  overseer: &a {runtime: claude}\n  reviewer: *a\n  generalist: {<<: *a}": "agents.generalist.runtime agents.overseer.runtime agents.reviewer.runtime",
	} {
		l, err := Load(repoInput(text))
		if err != nil {
			if want != "" {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		var keys []string
		for _, w := range l.Widenings {
			keys = append(keys, w.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%q\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// reaches says, independently of Widens, in what a configuration reaches
// further than the defaults.
func reaches(c Config) string {
	d := Defaults()
	s, e := c.Sandbox, d.Sandbox
	switch {
	case s.Mode == "off", s.Network != "none", s.Loopback != "deny", len(s.AllowHosts)+len(s.SetupHosts)+len(s.Read) > 0:
		return "sandbox"
	case s.MemoryMB > e.MemoryMB, s.Processes > e.Processes, s.TimeoutSeconds > e.TimeoutSeconds, s.OutputKB > e.OutputKB:
		return "limits"
	case len(c.MCP)+len(c.Notify)+len(c.Prices) > 0, c.VCS.Type != "git", c.Store.URL != "":
		return "outside"
	}
	for name, p := range c.Providers {
		q, ok := d.Providers[name]
		if !ok || p.Type != q.Type || p.BaseURL != q.BaseURL || p.APIKey != q.APIKey || p.Script != q.Script || apiName(p.API) != apiName(q.API) {
			return "provider " + name
		}
	}
	for role, a := range c.Agents {
		if a.Runtime != RuntimeNative {
			return "runtime of " + role
		}
	}
	return ""
}

// Whatever a repository's file holds: either it is refused, or it asks for
// trust, or it reaches nowhere that the defaults do not.
func FuzzTrust(f *testing.F) {
	for _, text := range []string{
		"sandbox: {mode: 'off'}", "mode: single", "agents:\n  cleanup: &a {runtime: claude}\n  reviewer: {<<: *a}\n",
		"providers: {x: {type: openai, base_url: 'http://h/v1', api_key: '${K}'}}", "<<: {sandbox: {read: [/etc]}}",
		"\"\\u0073andbox\": {loopback: allow}", "prices: {openai/x: {in: 0, out: 0}}", "? sandbox\n: {memory_mb: 9999}\n", "sandbox: &a\n  mode: *a\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Load(repoInput(text))
		if err != nil {
			return
		}
		if what := reaches(l.Config); what != "" && len(l.Widenings) == 0 {
			t.Errorf("%s without trust: %q", what, text)
		}
		if (l.TrustHash() == "") != (len(l.Widenings) == 0) {
			t.Errorf("hash %q of %d wishes", l.TrustHash(), len(l.Widenings))
		}
	})
}

// Quiet hours hold from their beginning up to their end, also past midnight.
func TestQuietUntil(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 3, 4, hour, minute, 30, 0, time.UTC) }
	for _, tt := range []struct {
		hours string
		now   time.Time
		want  string // day and time; empty: not quiet
	}{
		{"", at(23, 0), ""},
		{"22:00-07:00", at(21, 59), ""},
		{"22:00-07:00", at(22, 0), "05 07:00"},
		{"22:00-07:00", at(0, 0), "04 07:00"},
		{"22:00-07:00", at(6, 59), "04 07:00"},
		{"22:00-07:00", at(7, 0), ""},
		{"12:00-13:30", at(12, 0), "04 13:30"},
		{"12:00-13:30", at(13, 30), ""},
		{"12:00-13:30", at(11, 59), ""},
		{"00:00-23:59", at(23, 59), ""},
	} {
		got := Config{NotifyQuietHours: tt.hours}.QuietUntil(tt.now)
		if text := got.Format("02 15:04"); tt.want == "" && !got.IsZero() || tt.want != "" && text != tt.want {
			t.Errorf("%s at %s: %s, want %q", tt.hours, tt.now.Format("15:04"), text, tt.want)
		}
	}
}

// What is wrong with a place to announce to is said where it stands, with a caret.
func TestPlacesToAnnounceTo(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"notify: [{type: webhook, url: 'http://example.org/x'}]", "http:// only to this machine"},
		{"notify: [{type: slack, url: 'https://example.org/x', from: a@b}]", "only type email has it"},
		{"notify: [{type: slack, url: 'https://example.org/x', secret: '${X}'}]", "only type webhook has it"},
		{"notify: [{type: desktop, events: [gates]}]", "must be one of gate, failure, end"},
		{"notify_quiet_hours: 22-7", "must be two times of a day, such as 22:00-07:00"},
		{"notify_quiet_hours: 22:00-22:00", "ends when it begins"},
	} {
		_, err := Load(repoInput(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "agency.yaml:1:") || !strings.Contains(err.Error(), "^") {
			t.Errorf("%s: %v", tt.text, err)
		}
	}
	for _, text := range []string{
		"notify: [{type: webhook, url: 'http://127.0.0.1:80/x', secret: '${X}', events: [gate]}]", "notify: [{type: webhook, url: 'http://h/x', insecure: true}]",
		"notify: [{type: email, url: 'smtp://h', to: [a@b], from: c@d}, {type: shoutrrr, url: 'ntfy://h/t'}, {type: desktop}]", "notify_quiet_hours: ''",
	} {
		load(t, repoInput(text))
	}
}
