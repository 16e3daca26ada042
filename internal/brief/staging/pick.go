package staging

import (
	"math"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// term is a word of the contract with what it is worth.
type term struct {
	word   string
	weight float64
}

var (
	wordForm = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{2,}`)
	codeForm = regexp.MustCompile(`[a-z][A-Z]|[A-Z][a-z]+[A-Z]|_|[a-z]\d`)
)

// common are words that say nothing about which code is meant.
var common = strings.Fields(`the and for with that this from into must should not are was were will can may all any its our your their has have
	add adds added make makes fix fixes fixed use uses used using test tests testing file files code function functions method return returns
	when where which while what then than also only each other more most new old same such so as at be by do if in is it no of on or to up
	support handle handles change changes implement update error errors value values type types string number list like works working work goal
	contract criterion criteria pass passes fail fails run runs should`)

// text is everything that a contract says in words.
func text(c agency.Contract) string {
	parts := []string{c.Title, c.Description, c.GoalAnchor}
	for _, cr := range c.AcceptanceCriteria {
		parts = append(parts, cr.Text)
		if cr.Check != nil {
			parts = append(parts, cr.Check.Test, cr.Check.Command, cr.Check.File)
		}
	}
	parts = append(parts, c.APIDefinitions...)
	parts = append(parts, c.TestRequirements...)
	return strings.Join(append(parts, c.Constraints...), "\n")
}

// termsOf are a contract's words, names of code above all.
func termsOf(c agency.Contract) []term {
	weights := map[string]float64{}
	for _, w := range wordForm.FindAllString(text(c), 4000) {
		switch lower := strings.ToLower(w); {
		case codeForm.MatchString(w) || len(w) > 3 && w == strings.ToUpper(w):
			weights[w] = 4
		case slices.Contains(common, lower):
		case w[0] >= 'A' && w[0] <= 'Z':
			weights[lower] = max(weights[lower], 1.5)
		default:
			weights[lower] = max(weights[lower], 1)
		}
	}
	var out []term
	for w, weight := range weights {
		out = append(out, term{w, weight})
	}
	slices.SortFunc(out, func(a, b term) int {
		if a.weight != b.weight {
			return int(math.Copysign(1, b.weight-a.weight))
		}
		return strings.Compare(a.word, b.word)
	})
	return out[:min(len(out), 80)]
}

// worded adds what holds the contract's words: rare words count more.
func (p *picker) worded() {
	p.terms = termsOf(p.in.Contract)
	lower := map[string]string{}
	for _, f := range p.repo.paths {
		lower[f] = strings.ToLower(p.repo.files[f].text)
	}
	for _, t := range p.terms {
		counts := map[string]int{}
		for _, f := range p.repo.paths {
			hay := p.repo.files[f].text
			if t.weight < 4 {
				hay = lower[f]
			}
			if n := strings.Count(hay, t.word); n > 0 {
				counts[f] = n
			}
		}
		if len(counts) == 0 {
			continue
		}
		rare := math.Log(1 + float64(len(p.repo.paths))/float64(len(counts)))
		for _, f := range p.repo.paths {
			n := counts[f]
			if n > 0 {
				p.add(f, t.weight*rare*math.Log2(1+float64(min(n, 8)))/prose(f), "holds "+t.word)
			}
			if strings.Contains(strings.ToLower(f), strings.ToLower(t.word)) {
				p.add(f, 4*t.weight*rare/prose(f), "its name holds "+t.word)
			}
		}
	}
}

// prose counts documents less than code.
func prose(p string) float64 {
	if isProse(p) {
		return 4
	}
	return 1
}

// neighbours adds what the best files import, what imports them, and what was
// changed together with them.
func (p *picker) neighbours() {
	seeds := p.seeds()
	base := map[string]float64{}
	for _, s := range seeds {
		base[s] = p.score[s]
	}
	for _, s := range seeds {
		for _, name := range p.repo.files[s].imports {
			for _, f := range p.repo.resolve(s, name) {
				if base[f] == 0 {
					p.add(f, base[s]*0.2, "used by "+s)
				}
			}
		}
	}
	for _, f := range p.repo.paths {
		if base[f] > 0 {
			continue
		}
		for _, name := range p.repo.files[f].imports {
			for _, used := range p.repo.resolve(f, name) {
				p.add(f, base[used]*0.1, "uses "+used)
			}
		}
	}
	p.history(base)
}

// maxCommit is the largest commit that says something about what belongs
// together.
const maxCommit = 20

func (p *picker) history(base map[string]float64) {
	for age, files := range p.in.Recent {
		if len(files) > maxCommit {
			continue
		}
		fade := 0.1 / (1 + float64(age)/10)
		for _, f := range files {
			if base[f] == 0 {
				continue
			}
			for _, other := range files {
				if base[other] == 0 && other != f {
					p.add(other, base[f]*fade, "changed together with "+f)
				}
			}
		}
	}
}

// items are the files in the order of their value.
func (p *picker) items() []Item {
	seeds := p.seeds()
	var out []Item
	for _, s := range seeds {
		out = append(out, p.item(Source, s, p.score[s]))
	}
	if p.in.Limits.Tests {
		out = append(out, p.tests(seeds)...)
	}
	out = append(out, p.apis(seeds)...)
	if p.in.Limits.Similar {
		out = append(out, p.similar(seeds)...)
	}
	slices.SortStableFunc(out, func(a, b Item) int {
		if a.value != b.value {
			return int(math.Copysign(1, b.value-a.value))
		}
		return strings.Compare(a.Path, b.Path)
	})
	seen := map[string]bool{} // a file is staged once, for what it is worth most
	return slices.DeleteFunc(out, func(i Item) bool {
		before := seen[i.Path]
		seen[i.Path] = true
		return before
	})
}

// wholeFile is how large a file may be to be shown whole, in bytes; of a
// larger one the parts are shown that hold the contract's words.
const wholeFile = 24 << 10

func (p *picker) item(kind Kind, path string, value float64) Item {
	full := p.repo.files[path].text
	i := Item{Kind: kind, Path: path, Text: full, Whole: true, Why: p.why[path], value: value}
	if len(full) > wholeFile {
		i.Text, i.Whole = parts(full, p.terms, wholeFile), false
	}
	return i
}

// tests are those of the seeds: by name, else beside them.
func (p *picker) tests(seeds []string) []Item {
	var out []Item
	seen := map[string]bool{}
	take := func(f string, value float64, why string) {
		if !seen[f] {
			seen[f] = true
			i := p.item(Test, f, value)
			if i.Why == "" || p.score[f] < value {
				i.Why = why
			}
			out = append(out, i)
		}
	}
	for _, s := range seeds {
		for _, f := range p.repo.paths {
			if isTest(f) && stem(f) == stem(s) && near(f, s) {
				take(f, max(p.score[f], p.score[s]*0.8), "tests "+s)
			}
		}
	}
	for n, f := range p.ranked(isTest) {
		if n == 3 {
			break
		}
		take(f, p.score[f]*0.6, "tests that hold the contract's words")
	}
	return out
}

// near tells whether a test may be that of a file: same language, and beside it
// or in a tree of tests.
func near(test, f string) bool {
	return languageOf(test) == languageOf(f) && (path.Dir(test) == path.Dir(f) || strings.Contains(strings.ToLower(path.Dir(test)), "test"))
}

func languageOf(p string) string {
	switch ext := strings.ToLower(path.Ext(p)); ext {
	case ".ts", ".tsx", ".jsx", ".mjs", ".cjs":
		return ".js"
	default:
		return ext
	}
}

// maxAPIs is how many files are shown by their declarations.
const maxAPIs = 10

// apis are the declarations of what the seeds use or are used by.
func (p *picker) apis(seeds []string) []Item {
	var out []Item
	for _, f := range p.ranked(func(f string) bool { return !isTest(f) && !isProse(f) && !slices.Contains(seeds, f) }) {
		if len(out) == maxAPIs {
			break
		}
		if text := outline(f, p.repo.files[f].text); text != "" {
			out = append(out, Item{Kind: API, Path: f, Text: text, Why: p.why[f], value: p.score[f] * 0.9})
		}
	}
	return out
}

// maxSimilar is how many examples of similar code are staged.
const maxSimilar = 2

// maxCompared is how many files are compared with the best one.
const maxCompared = 200

// similar are files beside the seeds that look like them.
func (p *picker) similar(seeds []string) []Item {
	if len(seeds) == 0 {
		return nil
	}
	type found struct {
		path  string
		alike float64
	}
	var all []found
	first := seeds[0]
	mine := shingles(p.repo.files[first].text)
	ranked := p.ranked(func(f string) bool { return languageOf(f) == languageOf(first) })
	for _, f := range ranked[:min(len(ranked), maxCompared)] {
		if slices.Contains(seeds, f) || isTest(f) || len(p.repo.files[f].text) > wholeFile {
			continue
		}
		alike := overlap(mine, shingles(p.repo.files[f].text))
		if path.Dir(f) == path.Dir(first) {
			alike *= 1.3
		}
		if alike > 0.12 {
			all = append(all, found{f, alike})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		if a.alike != b.alike {
			return int(math.Copysign(1, b.alike-a.alike))
		}
		return strings.Compare(a.path, b.path)
	})
	var out []Item
	for _, f := range all[:min(len(all), maxSimilar)] {
		i := p.item(Example, f.path, p.score[first]*0.1*f.alike)
		i.Why = "similar to " + first
		out = append(out, i)
	}
	return out
}
