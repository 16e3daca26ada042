package config

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"
	"text/template"
)

// Detected are the commands that check/detect found, and what is said in comments
// above them, for instance how the test command was found.
type Detected struct {
	Commands
	Notes []string
}

//go:embed schema.json
var schema []byte

// Schema is the JSON schema of agency.yaml (draft 2020-12), which a test generates
// from Config. Editors complete and check with it; Load checks more.
func Schema() []byte { return schema }

//go:embed agency.yaml.tmpl
var templateText string

// Template is the agency.yaml that init writes. Loading it gives the defaults
// with the detected commands.
func Template(d Detected) []byte {
	d.Notes = slices.Clone(d.Notes)
	for i, n := range d.Notes {
		d.Notes[i] = strings.Join(strings.Fields(n), " ")
	}
	t := template.Must(template.New("agency.yaml").Option("missingkey=error").
		Funcs(template.FuncMap{"quote": quote}).Parse(templateText))
	var b bytes.Buffer
	if err := t.Execute(&b, d); err != nil {
		panic(err) // the template is embedded, and a test executes it
	}
	return b.Bytes()
}
