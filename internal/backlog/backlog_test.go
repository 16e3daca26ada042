package backlog

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
)

const steps = 5

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text), steps)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestParse(t *testing.T) {
	f := parse(t, `{"owner": "x", "features": [
  {"id": 12, "description": "Login", "test_file": "login_test.go", "size_estimate": "high",
   "verification_steps": ["a user logs in"], "status": "completed", "colour": "red"},
  {"id": "logout", "description": "Logout", "depends_on": [12], "evidence": "see wiki"}
]}`)
	want := []agency.Feature{
		{ID: "12", Description: "Login", TestFile: "login_test.go", Size: agency.Large, VerificationSteps: []string{"a user logs in"}, Status: agency.FeatureDone},
		{ID: "logout", Description: "Logout", DependsOn: []agency.FeatureID{"12"}, Status: agency.FeaturePending},
	}
	if diff := cmp.Diff(want, f.Features); diff != "" {
		t.Error(diff)
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no list", `{"a": 1}`, "features.json:1:1: want a list of features"},
		{"cut off", "[\n  {\"id\": \"a\"", "features.json:2:13: the file ends in the middle"},
		{"no JSON", "[\n  {id: 1}]", "features.json:2:4: no valid JSON"},
		{"more after it", "[] x", "features.json:1:4: something follows"},
		{"a key twice", `[{"id": "a", "id": "b"}]`, `features.json:1:14: "id" twice`},
		{"no id", `[{"description": "x"}]`, "1:2: a feature without an id"},
		{"bad id", `[{"id": "../x", "description": "x"}]`, `1:9: feature id "../x"`},
		{"id of another type", `[{"id": 1.5, "description": "x"}]`, "1:9: id: want a name"},
		{"no description", "[\n{\"id\": \"a\"}]", "2:1: feature a has no description"},
		{"status", `[{"id": "a", "description": "x", "status": "maybe"}]`, `1:44: status "maybe"`},
		{"size", `[{"id": "a", "description": "x", "size_estimate": "vast"}]`, "size_estimate"},
		{"path", `[{"id": "a", "description": "x", "test_file": "../a"}]`, "test_file: path"},
		{"steps", `[{"id": "a", "description": "x", "verification_steps": ["1","2","3","4","5","6"]}]`, "6 verification steps, the most is 5"},
		{"ids that differ in case", `[{"id": "a", "description": "x"}, {"id": "A", "description": "x"}]`, "1:35: feature A: the id is taken by a"},
		{"unknown dependency", `[{"id": "a", "description": "x", "depends_on": ["é", "b"]}]`, "feature a depends on b, which is not in the backlog"},
		{"circle", `[{"id": "a", "description": "x", "depends_on": ["b"]}, {"id": "b", "description": "x", "depends_on": ["a"]}]`, "in a circle: a -> b -> a"},
		{"nested", strings.Repeat("[", 100), "nested too deep"},
		{"not a feature", `[3]`, "1:2: want a feature"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text), steps)
			if agency.KindOf(err) != agency.KindInvalid || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	_, err := Parse([]byte(`[{"id": "-a", "status": "x"}, {"id": "b", "description": "x", "depends_on": ["c"]}]`), steps)
	if n := strings.Count(err.Error(), "\n") + 1; n != 4 {
		t.Errorf("%d faults, want all 4 at once: %v", n, err)
	}
}

// An edit changes what it is about, and no other byte.
func TestEdits(t *testing.T) {
	e := agency.FeatureEvidence{Note: "by hand"}
	for _, tt := range []struct{ name, text, want string }{
		{"a status is replaced", "[\n\t{\"id\": \"a\", \"x\": [1,\n2], \"status\":   \"pending\", \"description\": \"d\"}\n]", "[\n\t{\"id\": \"a\", \"x\": [1,\n2], \"status\":   \"done\", \"description\": \"d\", \"evidence\": {\n  \"note\": \"by hand\"\n}}\n]"},
		{"members on lines of their own", "{\"features\": [\n    {\n      \"id\": \"a\",\n      \"description\": \"d\"\n    }\n], \"z\": 1e9}\n", "{\"features\": [\n    {\n      \"id\": \"a\",\n      \"description\": \"d\",\n      \"evidence\": {\n        \"note\": \"by hand\"\n      },\n      \"status\": \"done\"\n    }\n], \"z\": 1e9}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(t, tt.text).Done("a", e, steps)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			again, err := parse(t, string(got)).Done("a", e, steps)
			if err != nil || string(again) != string(got) {
				t.Errorf("done again: %s, %v", again, err)
			}
		})
	}
	if _, err := parse(t, "[]").Done("a", e, steps); agency.KindOf(err) != agency.KindNotFound {
		t.Error(err)
	}
}

func TestAdd(t *testing.T) {
	add := agency.Feature{ID: "b", Description: "a < b"}
	for _, tt := range []struct{ name, text, want string }{
		{"to nothing", "", "{\n  \"features\": [\n    {\n      \"id\": \"b\",\n      \"description\": \"a < b\",\n      \"status\": \"pending\"\n    }\n  ]\n}\n"},
		{"to an empty list", "[ ]\n", "[\n  {\n    \"id\": \"b\",\n    \"description\": \"a < b\",\n    \"status\": \"pending\"\n  }\n]\n"},
		{"to others", "[\n  {\"id\": \"a\", \"description\": \"d\"}\n]\n", "[\n  {\"id\": \"a\", \"description\": \"d\"},\n  {\n    \"id\": \"b\",\n    \"description\": \"a < b\",\n    \"status\": \"pending\"\n  }\n]\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &File{}
			if tt.text != "" {
				f = parse(t, tt.text)
			}
			got, err := f.Add(add, steps)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	f := parse(t, `[{"id": "a", "description": "d"}]`)
	for _, bad := range []agency.Feature{
		{ID: "A", Description: "x"},
		{ID: "x/y", Description: "x"},
		{ID: "c"},
		{ID: "c", Description: "x", DependsOn: []agency.FeatureID{"nobody"}},
		{ID: "c", Description: "x", DependsOn: []agency.FeatureID{"c"}},
	} {
		if _, err := f.Add(bad, steps); agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// The file is the repository's: no link is followed, nothing huge is read.
func TestReadAndWrite(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if f, err := Read(root, steps); err != nil || len(f.Features) != 0 {
		t.Errorf("no file: %v, %v", f, err)
	}
	if err := Write(root, []byte(`[{"id": "a", "description": "d"}]`)); err != nil {
		t.Fatal(err)
	}
	if f, err := Read(root, steps); err != nil || len(f.Features) != 1 {
		t.Errorf("written: %v, %v", f, err)
	}
	if err := os.WriteFile(dir+"/"+Name, make([]byte, MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(root, steps); err == nil || !strings.Contains(err.Error(), "the most is") {
		t.Errorf("a huge one: %v", err)
	}
	if err := os.WriteFile(dir+"/other", []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"other", "/etc/hostname"} {
		_ = root.Remove(Name)
		if err := os.Symlink(to, dir+"/"+Name); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(root, steps); err == nil {
			t.Errorf("the link to %s was read", to)
		}
		if err := Write(root, []byte("[]")); err == nil {
			t.Errorf("the link to %s was replaced", to)
		}
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 2 {
		t.Errorf("left %v", left)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`[{"id": "a", "description": "d", "depends_on": ["a"]}]`, `{"features": []}`, "[\n{\"id\": 1, \"description\": \"d\", \"status\": \"done\"}\n]", "[[[", `[{"id":"a","description":"\u0000"}] `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data, steps)
		if err != nil || len(file.Features) == 0 {
			return
		}
		before := file.Features
		id := before[0].ID
		out, err := file.Done(id, agency.FeatureEvidence{Note: "n"}, steps)
		if err != nil {
			t.Fatalf("done: %v", err)
		}
		if !json.Valid(out) {
			t.Fatalf("no JSON: %q", out)
		}
		after := parse(t, string(out))
		if got, _ := after.Find(id); got.Status != agency.FeatureDone || got.Evidence == nil || got.Evidence.Note != "n" {
			t.Fatalf("%+v", got)
		}
		if diff := cmp.Diff(before[1:], after.Features[1:]); diff != "" {
			t.Fatal(diff)
		}
		if out, err = after.Add(agency.Feature{ID: "fresh-one", Description: "d"}, steps); err == nil && len(parse(t, string(out)).Features) != len(before)+1 {
			t.Fatal("added another number")
		}
	})
}
