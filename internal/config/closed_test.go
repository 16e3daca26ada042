package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// schemaKeys are the keys of all leaves of the schema, each with its field.
func schemaKeys(t reflect.Type, f field, key string, found map[string]field) {
	switch {
	case t.Kind() == reflect.Struct:
		for _, f := range fieldsOf(t) {
			schemaKeys(f.typ, f, join(key, f.name), found)
		}
	case t.Kind() == reflect.Map:
		schemaKeys(t.Elem(), f.elem(), join(key, "*"), found)
	case isStructList(t):
		schemaKeys(t.Elem(), f.elem(), key+"[]", found)
	default:
		found[key] = f
	}
}

func allKeys() map[string]field {
	found := map[string]field{}
	schemaKeys(reflect.TypeFor[Config](), field{}, "", found)
	return found
}

// names stand for any name of a mapping.
var names = map[string]string{
	"providers": "corp", "prices": "corp/m", "windows": "corp/m", "models": "capable", "needs": "test", "agents": "reviewer",
	"talents": "docs", "mcp": "wiki", "resources": "gpu", "profiles": "cheap",
}

// pairs are two values of a key that differ.
func pairs(key string, f field) [][2]any {
	forms := map[string][2]any{
		"url": {"https://a.example/v1", "https://b.example/v1"}, "model": {"corp/m", "corp/n"}, "model_or_none": {"corp/m", "corp/n"},
		"level_or_model": {"capable", "corp/n"}, "path": {"/opt/a", "/opt/b"}, "host": {"a.example", "b.example"}, "runtime": {"native", "claude"},
		"role_or_agent": {"reviewer", "generalist"}, "email": {"a@b.org", "b@b.org"}, "hours": {"22:00-07:00", "23:00-07:00"}, "": {"one", "two"},
		"command": {"one", "two"}, "argv": {"one", "two"}, "glob": {"one", "two"}, "ref": {"one", "two"}, "talent": {"one", "two"}, "resource": {"gpu", "tpu"},
	}
	if f.form == "role_or_agent" || f.enum != nil || f.typ.Kind() == reflect.Slice {
		e := f
		if f.typ.Kind() == reflect.Slice {
			e = f.elem()
		}
		var out [][2]any
		values := []any{forms[f.form][0], forms[f.form][1]}
		if f.enum != nil {
			values = nil
			for _, v := range e.enum {
				values = append(values, v)
			}
		}
		for i, a := range values[1:] {
			one := [2]any{values[i], a}
			if f.typ.Kind() == reflect.Slice {
				one = [2]any{[]any{values[i]}, []any{a}}
			}
			out = append(out, one, [2]any{one[1], one[0]})
		}
		return out
	}
	switch f.typ.Kind() {
	case reflect.Bool:
		return [][2]any{{true, false}, {false, true}}
	case reflect.String:
		if f.expand == "secret" && !strings.HasPrefix(key, "store") {
			return [][2]any{{"${A}", "${B}"}, {"literal", "${B}"}, {"${A}", "(literal)"}}
		} else if f.expand == "secret" {
			return [][2]any{{"postgres://a/x", "postgres://b/x"}}
		}
		return [][2]any{forms[f.form]}
	default:
		least, _ := strconv.Atoi(f.min)
		if key == "providers.*.thinking_tokens" {
			least = 1024
		}
		a, b := max(40, least), max(40, least)+1
		return [][2]any{{a, b}, {b, a}}
	}
}

// put sets a value at a key of the schema in a tree of JSON.
func put(tree map[string]any, key string, v any) {
	parts := strings.Split(key, ".")
	for i, part := range parts {
		list, isList := strings.CutSuffix(part, "[]")
		if part == "*" {
			part = names[parts[i-1]]
		}
		switch {
		case i == len(parts)-1:
			tree[part] = v
			return
		case isList:
			item := map[string]any{"type": "webhook", "url": "https://a.example/"}
			if old, ok := tree[list].([]any); ok {
				item = maps.Clone(old[0].(map[string]any))
			}
			tree[list] = []any{item}
			tree = item
		default:
			next, ok := tree[part].(map[string]any)
			if !ok {
				next = map[string]any{}
			}
			next = maps.Clone(next)
			tree[part] = next
			tree = next
		}
	}
}

// whole is a tree in which any key can be set to something else.
func whole(key string) map[string]any {
	tree := beside(key)
	put(tree, "providers.*", map[string]any{"type": "openai", "base_url": "https://proxy.example/v1", "api_key": "${CORP}"})
	put(tree, "models.*", []any{"corp/m"})
	switch {
	case key == "providers.*.script":
		put(tree, "providers.*", map[string]any{"type": "rehearsal", "script": "play.yaml"})
	case key == "providers.*.thinking_tokens":
		put(tree, "providers.*", map[string]any{"type": "anthropic", "api_key": "${CORP}"})
	case key == "mcp.*.command":
		put(tree, "mcp.*", map[string]any{"command": []any{"server"}, "roles": []any{"generalist"}})
	case strings.HasPrefix(key, "mcp"):
		put(tree, "mcp.*", map[string]any{"url": "https://wiki.example/mcp", "roles": []any{"generalist"}})
	case strings.HasPrefix(key, "prices"):
		put(tree, "prices.*", map[string]any{"in": 1000, "out": 1000})
	}
	return tree
}

// beside is what has to be said with a key, whoever says it.
func beside(key string) map[string]any {
	tree := map[string]any{}
	switch key {
	case "notify[].to", "notify[].from":
		tree["notify"] = []any{map[string]any{"type": "email", "url": "smtp://h", "to": []any{"x@y.org"}}}
	case "notify[].type":
		tree["notify"] = []any{map[string]any{"url": "https://a.example/"}}
	case "commands.needs.*":
		tree["resources"] = map[string]any{"gpu": 1, "tpu": 1}
	case "context.vector_search":
		put(tree, "context.embeddings_model", "corp/m")
	case "improve.auto_approve_low_risk":
		put(tree, "improve.require_human_approval", false)
	case "routing.simple_max_files", "routing.simple_max_criteria":
		put(tree, strings.Replace(key, "simple_max", "complex_min", 1), 50)
	case "overseer.max_tokens":
		put(tree, "overseer.token_warning_threshold", 1)
	}
	return tree
}

func yamlOf(t *testing.T, tree map[string]any) string {
	t.Helper()
	b, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// judged is what becomes of another's text beside the user's own: "" where it is taken,
// "trust", "own" where it is one of the user's own file alone, or else the error.
func judged(t *testing.T, user, text, as string) string {
	t.Helper()
	in := repoInput("")
	in.UserFile = Source{Path: "own.yaml", Data: []byte(user)}
	if as == "agency.yaml" {
		in.RepoFile = Source{Path: as, Data: []byte(text)}
	} else {
		in.TeamFile = Source{Path: as, Data: []byte(text)}
	}
	l, err := Load(in)
	switch {
	case err == nil && len(l.Widenings) > 0:
		return "trust"
	case err == nil:
		return ""
	case strings.Contains(err.Error(), "a team file may not ask for more than your own configuration"):
		return "trust"
	case strings.Contains(err.Error(), "in your own file alone"):
		return "own"
	}
	return err.Error()
}

// Every key of the configuration is judged in the text of others: it is harmless by the one
// list, or some value of it asks for trust, also where the user's own file sets that very
// key, alike in agency.yaml and in the files of runs, in YAML and JSON, plain and through
// merge keys. A key that is added is in no list, and asks.
func TestEveryKeyOfOthersIsJudged(t *testing.T) {
	keys := allKeys()
	for set, keysOf := range map[string]map[string]bool{"harmless": harmless, "ordered": ordered} {
		for key := range keysOf {
			if _, known := keys[key]; !known {
				t.Errorf("%s names %s, which is no key", set, key)
			}
			if harmless[key] && ordered[key] {
				t.Errorf("%s is harmless and ordered", key)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		asked, valid, last := false, false, ""
		for i, pair := range pairs(key, keys[key]) {
			if asked {
				break
			}
			for _, own := range []any{pair[0], nil} {
				user := whole(key)
				if own != nil {
					put(user, key, own)
				}
				other := beside(key)
				put(other, key, pair[1])
				text := yamlOf(t, other)
				as := map[string]string{}
				for _, name := range []string{"agency.yaml", "team.yaml"} {
					as[name] = judged(t, yamlOf(t, user), text, name)
					if i == 0 && !testing.Short() {
						as["merged "+name] = judged(t, yamlOf(t, user), "<<: "+text, name)
						as["team.json"] = judged(t, yamlOf(t, user), text, "team.json")
					}
				}
				is := as["agency.yaml"]
				taken := is == "" || is == "trust" || is == "own"
				if !taken {
					last = is
					continue
				}
				for name, here := range as {
					if here != is {
						t.Errorf("%s: %q in %s, %q in agency.yaml, beside %s", text, here, name, is, yamlOf(t, user))
					}
				}
				valid = true
				asked = asked || is != ""
				if is == "own" != (ownAlone(strings.ReplaceAll(key, "[]", "")) && is != "") {
					t.Errorf("%s: %q", key, is)
				}
			}
		}
		switch {
		case fixed(keys[key]):
		case !valid:
			t.Errorf("%s: no value of it is taken or asks, the test needs one: %s", key, last)
		case asked == harmless[key]:
			t.Errorf("%s: asks for trust: %v, harmless by the list: %v", key, asked, harmless[key])
		}
	}
}

// fixed tells whether a key has but one value.
func fixed(f field) bool { return f.fixed != "" || f.min != "" && f.min == f.max || len(f.enum) == 1 }

// A key of nobody's list asks for trust wherever it differs from the user's.
func TestNewKeysAsk(t *testing.T) {
	delete(harmless, "visibility.log_level")
	defer func() { harmless["visibility.log_level"] = true }()
	for text, want := range map[string]string{"visibility: {log_level: verbose}": "trust", "visibility: {log_level: normal}": ""} {
		for _, as := range []string{"agency.yaml", "team.yaml"} {
			if is := judged(t, "", text, as); is != want {
				t.Errorf("%s in %s: %q, want %q", text, as, is, want)
			}
		}
	}
}

// What a file of a run asks beside the user's own is said at its place, in the words of trust.
func TestTeamFileSendsNoKeyElsewhere(t *testing.T) {
	const own = "providers: {corp: {type: openai, base_url: 'https://proxy.example/v1', api_key: '${CORP}'}}\nmcp: {wiki: {url: 'https://wiki.example/', roles: [generalist]}}\nmodels: {capable: [corp/m]}\n"
	for text, want := range map[string]string{
		"providers: {corp: {base_url: 'http://127.0.0.1:1/v1'}}":    "team.yaml:1:30: providers.corp.base_url: http://127.0.0.1:1/v1 instead of https://proxy.example/v1",
		"providers: {corp: {api_key: '${SOME_OTHER_SECRET}'}}":      "providers.corp.api_key: ${SOME_OTHER_SECRET} instead of ${CORP}",
		"providers: {corp: {api_key: 'stolen'}}":                    "providers.corp.api_key: ******** instead of ${CORP}",
		"mcp: {wiki: {url: 'http://127.0.0.1:1/'}}":                 "mcp.wiki: http://127.0.0.1:1/",
		"notify_quiet_hours: 00:00-23:59":                           "notify_quiet_hours: ",
		"providers: {corp: {base_url: 'https://proxy.example/v1'}}": "",
		"providers: {corp: {api_key: '${CORP}', idle_seconds: 5}}":  "",
		"mcp: {wiki: {url: 'https://wiki.example/', roles: []}}\n":  "",
	} {
		in := repoInput("")
		in.UserFile = Source{Path: "own.yaml", Data: []byte(own)}
		in.TeamFile = Source{Path: "team.yaml", Data: []byte(text)}
		_, err := Load(in)
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
