package verify

import (
	"testing"

	"agency/internal/git"
)

// TestOnlyRenamed holds what of an edited test is the renaming of the product
// alone: no value, no sign, no name that is still there or that asserts.
func TestOnlyRenamed(t *testing.T) {
	const wasGo, isGo = "package p\n\ntype Item struct{ Cost int }\n\nfunc (i Item) Sum() int { return i.Cost }\n\nfunc Max(a int) int { return a }\n", "package p\n\ntype Item struct{ Price int }\n\nfunc (i Item) Sum() int { return i.Price }\n\nfunc Max(a int) int { return a }\n\nfunc Min(a int) int { return -a }\n"
	const test = "package p\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif (Item{Cost: 2}).Sum() != Max(2) {\n\t\tt.Errorf(\"sum\")\n\t}\n}\n"
	const renamed = "package p\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif (Item{Price: 2}).Sum() != Max(2) {\n\t\tt.Errorf(\"sum\")\n\t}\n}\n"
	for name, tt := range map[string]struct {
		product, test [2]string
		lang          string
		want          bool
	}{
		"a field":                 {[2]string{wasGo, isGo}, [2]string{test, renamed}, "go", true},
		"with another test":       {[2]string{wasGo, isGo}, [2]string{test, renamed + "\nfunc TestMin(t *testing.T) {\n\tt.Log(Min(1))\n}\n"}, "go", true},
		"and its value":           {[2]string{wasGo, isGo}, [2]string{test, "package p\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif (Item{Price: 3}).Sum() != Max(2) {\n\t\tt.Errorf(\"sum\")\n\t}\n}\n"}, "go", false},
		"and what compares":       {[2]string{wasGo, isGo}, [2]string{test, "package p\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif (Item{Price: 2}).Sum() < Max(2) {\n\t\tt.Errorf(\"sum\")\n\t}\n}\n"}, "go", false},
		"and another that stayed": {[2]string{wasGo, isGo}, [2]string{test, "package p\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif (Item{Price: 2}).Sum() != Min(2) {\n\t\tt.Errorf(\"sum\")\n\t}\n}\n"}, "go", false},
		"a name that is there":    {[2]string{wasGo, wasGo + "\nvar Price = 1\n"}, [2]string{test, renamed}, "go", false},
		"what asserts":            {[2]string{wasGo + "\nfunc (Item) Errorf() {}\n", isGo + "\nfunc (Item) Logs() {}\n"}, [2]string{test, "package p\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif (Item{Price: 2}).Sum() != Max(2) {\n\t\tt.Logs(\"sum\")\n\t}\n}\n"}, "go", false},
		"nothing":                 {[2]string{wasGo, isGo}, [2]string{test, test + "\n"}, "go", false},
		"two for one":             {[2]string{"class A:\n    def one(self):\n        return 1\n    def two(self):\n        return 2\n", "class A:\n    def both(self):\n        return 1\n"}, [2]string{"def test_a():\n    assert A().one() != A().two()\n", "def test_a():\n    assert A().both() != A().both()\n"}, "py", false},
		"and a text":              {[2]string{wasGo, isGo}, [2]string{test + "\nvar want = \"Cost 2\"\n", renamed + "\nvar want = \"Price 2\"\n"}, "go", false},
		"and where it stands":     {[2]string{"class A:\n    def __init__(self, cost):\n        self.cost = cost\n", "class A:\n    def __init__(self, price):\n        self.price = price\n"}, [2]string{"def test_a():\n    for a in []:\n        pass\n    assert A(cost=2).cost == 2\n", "def test_a():\n    for a in []:\n        pass\n        assert A(price=2).price == 2\n"}, "py", false},
		"a test of it again":      {[2]string{"class A:\n    def __init__(self, cost):\n        self.cost = cost\n", "class A:\n    def __init__(self, price):\n        self.price = price\n"}, [2]string{"def test_a():\n    assert A(cost=2).cost == 2\n", "def test_a():\n    assert A(price=2).price == 2\ndef test_a():\n    pass\n"}, "py", false},
		"a parameter of Python":   {[2]string{"class A:\n    def __init__(self, cost):\n        self.cost = cost\n", "class A:\n    def __init__(self, price):\n        self.price = price\n"}, [2]string{"def test_a():\n    assert A(cost=2).cost == 2\n", "def test_a():\n    assert A(price=2).price == 2\n"}, "py", true},
	} {
		t.Run(name, func(t *testing.T) {
			product, tests := "p/p."+tt.lang, "p/p_test."+tt.lang
			f := changeFacts{sources: []source{
				{path: product, lang: languageOf(product), before: []byte(tt.product[0]), after: []byte(tt.product[1])},
				{path: tests, lang: languageOf(tests), test: true, before: []byte(tt.test[0]), after: []byte(tt.test[1])},
			}}
			f.sides.product, f.sides.tests = []git.Change{{Status: 'M', Path: product}}, []git.Change{{Status: 'M', Path: tests}}
			if got := f.onlyRenamed(); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
