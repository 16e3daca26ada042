package config

import (
	"bytes"
	_ "embed"
	"slices"
	"strings"
	"text/template"
)

// Detected are the commands that check/detect found; "" where there is none.
type Detected struct {
	Test, Lint, Typecheck, Build, Setup string
	// Notes are said in comments above the commands, for instance how the
	// test command was found.
	Notes []string
	// Schema is a path or address of the JSON schema for editors, "" for
	// none.
	Schema string
}

//go:embed agency.yaml.tmpl
var templateText string

// Template is the agency.yaml that init writes. Loading it gives the defaults
// with the detected commands.
func Template(d Detected) []byte {
	d.Notes = slices.Clone(d.Notes)
	for i, n := range d.Notes {
		d.Notes[i] = strings.Join(strings.Fields(n), " ")
	}
	d.Schema = strings.Join(strings.Fields(d.Schema), "")
	t := template.Must(template.New("agency.yaml").Option("missingkey=error").
		Funcs(template.FuncMap{"quote": quote}).Parse(templateText))
	var b bytes.Buffer
	if err := t.Execute(&b, d); err != nil {
		panic(err) // the template is embedded, and a test executes it
	}
	return b.Bytes()
}
