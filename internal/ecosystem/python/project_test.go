package python

import (
	"slices"
	"testing"
	"testing/fstest"

	"agency/internal/ecosystem"
)

// What a project lists beside what its tests need does not keep a run from
// starting.
func TestWantedByTests(t *testing.T) {
	c := ecosystem.NewCheckout(fstest.MapFS{"requirements.txt": {Data: []byte("Flake8==3.7\npytest==5.3\nattrs\nSphinx\n")}})
	got := wanted(c, ecosystem.Unit{Locks: []string{"requirements.txt"}})
	if want := []ecosystem.Package{{Name: "attrs", To: "*"}, {Name: "pytest", To: "==5.3"}}; !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}

// Tests that pytest alone finds are run by it; what unittest finds needs nothing installed.
func TestBareTestsAreForPytest(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, want string }{
		"a function":           {"test_a.py", "def test_a():\n    assert True\n", "python3 -m pytest"},
		"a coroutine":          {"tests/test_a.py", "async def test_a(client):\n    assert True\n", "python3 -m pytest"},
		"a class without base": {"tests/a_test.py", "class TestA:\n    def test_a(self):\n        assert True\n", "python3 -m pytest"},
		"a fixture":            {"test_a.py", "import pytest\n", "python3 -m pytest"},
		"a case":               {"test_a.py", "import unittest\n\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.fail()\n", "python3 -m unittest"},
		"a helper":             {"helper.py", "def test_a():\n    pass\n", ""},
		"the word alone":       {"test_a.py", "# def test_a(): needs no pytest\n", "python3 -m unittest"},
	} {
		c := ecosystem.NewCheckout(fstest.MapFS{"pyproject.toml": {}, tt.file: {Data: []byte(tt.text)}})
		parts := pythonParts(c, nil)
		if len(parts) != 1 || parts[0].Test != tt.want {
			t.Errorf("%s: %+v", name, parts)
		}
	}
}
