package rehearsal

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// The types of this file are the script as written; compile turns them into
// rules. Scalars that are checked later remember their place.

type scriptFile struct {
	Version int      `yaml:"version"`
	Name    string   `yaml:"name"`
	Seed    uint64   `yaml:"seed"`
	Latency duration `yaml:"latency"`
	Rules   []placed `yaml:"rules"`
}

// placed is a mapping that is decoded strictly and remembers where it stands.
type placed struct {
	node ast.Node
	rule ruleFile
}

func (p *placed) UnmarshalYAML(n ast.Node) error {
	p.node = n
	return strict(n, &p.rule)
}

// strict decodes a mapping; the decoder's strictness does not reach into
// types with their own UnmarshalYAML.
func strict[T any](n ast.Node, into *T) error {
	if n.Type() != ast.MappingType && n.Type() != ast.MappingValueType {
		return wrong(n, "want a mapping")
	}
	return yaml.NodeToValue(n, into, yaml.Strict())
}

type ruleFile struct {
	Name      str       `yaml:"name"`
	When      whenFile  `yaml:"when"`
	Text      str       `yaml:"text"`
	Reasoning str       `yaml:"reasoning"`
	Calls     []call    `yaml:"calls"`
	Latency   *duration `yaml:"latency"`
	Usage     *usage    `yaml:"usage"`
	Stop      str       `yaml:"stop"`
	Times     int       `yaml:"times"`
	Once      bool      `yaml:"once"`
	Fault     *fault    `yaml:"fault"`
	Quirks    []str     `yaml:"quirks"`
}

type whenFile struct {
	Role     words  `yaml:"role"`
	Agent    words  `yaml:"agent"`
	Contract words  `yaml:"contract"`
	Model    words  `yaml:"model"`
	Offers   words  `yaml:"offers"`
	Attempt  counts `yaml:"attempt"`
	Turn     counts `yaml:"turn"`
	Last     regex  `yaml:"last"`
	Goal     regex  `yaml:"goal"`
	Result   *seen  `yaml:"result"`
	Seen     *seen  `yaml:"seen"`
	Unseen   *seen  `yaml:"unseen"`
	Image    regex  `yaml:"image"`
	After    str    `yaml:"after"`
}

// call is a tool call of a rule.
type call struct {
	Tool str            `yaml:"tool"`
	Args map[string]any `yaml:"args"`
	Raw  string         `yaml:"raw"` // arguments as they stand, instead of args
	ID   string         `yaml:"id"`
	node ast.Node
}

func (c *call) UnmarshalYAML(n ast.Node) error {
	type plain call
	c.node = n
	return strict(n, (*plain)(c))
}

type usage struct {
	In         int64 `yaml:"in"`
	Cached     int64 `yaml:"cached"`
	CacheWrite int64 `yaml:"cache_write"`
	Out        int64 `yaml:"out"`
}

// seen is a tool result.
type seen struct {
	Tool    string `yaml:"tool"`
	Matches regex  `yaml:"matches"`
	IsError *bool  `yaml:"error"`
}

func (s *seen) UnmarshalYAML(n ast.Node) error {
	type plain seen
	return strict(n, (*plain)(s))
}

// fault is a fault as written: its kind alone or with its details.
type fault struct {
	Kind       str      `yaml:"kind"`
	Times      int      `yaml:"times"`
	RetryAfter duration `yaml:"retry_after"`
	Form       str      `yaml:"form"` // of retry_after: seconds, date or ms
	Size       int      `yaml:"size"` // of huge, in bytes
	Over       duration `yaml:"over"` // of drip
	node       ast.Node
}

func (f *fault) UnmarshalYAML(n ast.Node) error {
	type plain fault
	f.node = n
	if n.Type() == ast.StringType {
		return f.Kind.UnmarshalYAML(n)
	}
	return strict(n, (*plain)(f))
}

// str is a string with its place.
type str struct {
	s    string
	node ast.Node
}

func (s *str) UnmarshalYAML(n ast.Node) error {
	s.node = n
	switch n.Type() {
	case ast.SequenceType, ast.MappingType, ast.MappingValueType:
		return wrong(n, "want a text")
	}
	return yaml.NodeToValue(n, &s.s)
}

// words is one string or a list of them.
type words []string

func (w *words) UnmarshalYAML(n ast.Node) error {
	if n.Type() == ast.SequenceType {
		return yaml.NodeToValue(n, (*[]string)(w))
	}
	var one string
	if err := yaml.NodeToValue(n, &one); err != nil {
		return err
	}
	*w = words{one}
	return nil
}

func (w words) has(s string) bool {
	for _, one := range w {
		if one == s {
			return true
		}
	}
	return len(w) == 0
}

// counts is a set of numbers from 1: 3, "2-4", "3+" or a list of these.
type counts [][2]int

func (c *counts) UnmarshalYAML(n ast.Node) error {
	var list []string
	if n.Type() == ast.SequenceType {
		if err := yaml.NodeToValue(n, &list); err != nil {
			return err
		}
	} else {
		var one string
		if err := yaml.NodeToValue(n, &one); err != nil {
			return err
		}
		list = []string{one}
	}
	for _, s := range list {
		span, ok := span(strings.TrimSpace(s))
		if !ok {
			return wrong(n, "%q is not a count: want 3, 2-4 or 3+, from 1", s)
		}
		*c = append(*c, span)
	}
	return nil
}

func span(s string) ([2]int, bool) {
	from, to, ranged := strings.Cut(s, "-")
	if open, ok := strings.CutSuffix(s, "+"); ok {
		from, to, ranged = open, strconv.Itoa(math.MaxInt), true
	}
	lo, err := strconv.Atoi(from)
	if err != nil || lo < 1 {
		return [2]int{}, false
	}
	if !ranged {
		return [2]int{lo, lo}, true
	}
	hi, err := strconv.Atoi(to)
	return [2]int{lo, hi}, err == nil && hi >= lo
}

func (c counts) has(n int) bool {
	for _, s := range c {
		if n >= s[0] && n <= s[1] {
			return true
		}
	}
	return len(c) == 0
}

// regex is a compiled pattern; nil where none is written.
type regex struct{ *regexp.Regexp }

func (r *regex) UnmarshalYAML(n ast.Node) error {
	var s string
	if err := yaml.NodeToValue(n, &s); err != nil {
		return err
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return wrong(n, "%v", err)
	}
	r.Regexp = re
	return nil
}

// duration is a Go duration such as 50ms.
type duration time.Duration

func (d *duration) UnmarshalYAML(n ast.Node) error {
	var s string
	if err := yaml.NodeToValue(n, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return wrong(n, "%q is not a duration: want for instance 50ms or 2s", s)
	}
	*d = duration(v)
	return nil
}
