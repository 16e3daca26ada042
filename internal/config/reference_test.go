package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Reference is the configuration's manual in Markdown, generated from Config.
func Reference() []byte {
	var b strings.Builder
	b.WriteString(referenceHead)
	d := reflect.ValueOf(Defaults())
	b.WriteString("\n## Top level\n\n")
	tableHead(&b)
	var sections []field
	for _, f := range fieldsOf(d.Type()) {
		if f.typ.Kind() == reflect.Struct || f.typ.Kind() == reflect.Map || isStructList(f.typ) {
			sections = append(sections, f)
			continue
		}
		row(&b, f, f.name, d.Field(f.index))
	}
	for _, f := range sections {
		section(&b, f, d.Field(f.index))
	}
	return []byte(b.String())
}

const referenceHead = `# Configuration

<!-- Generated from internal/config; a test compares. Do not edit. -->

Settings are laid over each other, the later wins: the defaults below, your own file
(` + "`$XDG_CONFIG_HOME/agency/config.yaml`" + `, by default ` + "`~/.config/agency/config.yaml`" + `), the file that
` + "`agency run FILE`" + ` was given, the repository's ` + "`agency.yaml`" + `, the profile that ` + "`--profile`" + ` names, the flags of the command. Mappings merge key by key, lists are replaced. The result is
copied into each run; a run never reads a file that an agent can write.

- ` + "`agency config show`" + ` prints the effective settings and where each came from, ` + "`validate`" + ` only checks,
  ` + "`schema`" + ` prints the JSON schema.
- ` + "`${NAME}`" + ` is replaced by an environment variable in your own file (not in commands, whose ` + "`${NAME}`" + ` is the
  shell's) and, in a repository's file, in keys that need trust. A plain ` + "`${`" + ` is written ` + "`$${`" + `. A variable that is
  not set is an error only when a model needs it. Keys are never written to the record of a run or to a log.
- A repository's file may narrow but not widen ` + "`sandbox`, `providers`, `notify`, `vcs`, `mcp`, `store`" + ` and
  ` + "`agents.*.runtime`" + `; what widens needs your trust, once, by ` + "`agency trust`" + `. Smaller limits, a stricter mode and
  fewer hosts need none. The same holds for a ` + "`budget`" + ` above one that your own file sets and for ` + "`prices`" + ` that
  are new or lower: they decide when spending stops; and for more of a resource than your own file counts. A repository that raises a budget above the default, where your
  file sets none, is named when a run starts. Gates, checks and detectors that your own file
  turns on (` + "`visibility`, `overseer`, `producer_critic`, `quality`, `contracts`, `improve`, `escalate`, `land: branch`" + `) cannot be turned off, nor their bounds loosened, without trust either,
  and whatever else is not known to be harmless (` + "`notify_quiet_hours`" + `) needs it wherever it differs from yours.
  Its ` + "`commands`" + ` and ` + "`retry_budget`" + ` need no trust: every command runs in the
  sandbox, and every attempt within the budget.
- The keys of all configured providers, and those in ` + "`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `GEMINI_API_KEY` and `GOOGLE_API_KEY`" + `,
  are handed to the repository's host, in memory only, and replaced by ` + "`[redacted]`" + ` in all that it writes, whether the run
  needs them or not. A key that is a placeholder, or stands in the repository's path or a host's name, is no secret and stays.
- Places under ` + "`notify`" + ` get a gate that begins to wait (and still does), a run that failed or was interrupted, and one that
  ended; not dry runs. A place that cannot be reached is told when a run starts, and tried for three minutes: then a warning
  in the run's log names it, and the run never waits for it. Where the host has lost the keys, an announcement is held until a
  client brings them. Quiet hours hold all of it, failures too. ` + "`agency notify test`" + ` tries every place.
- ` + "`hooks`" + ` run outside of the sandbox and stand in your own file alone: an ` + "`agency.yaml`" + ` that has the key is refused, whatever
  it is trusted for. What happened reaches them as values of the environment and as JSON on standard input. They begin in your
  home, without the keys of providers, one at a time each, and are ended after 30 seconds with their process group (what one begins with setsid goes on); one that fails
  is named in the run's log with the end of its output, and is not tried again. Quiet hours do not hold them. A host that
  is killed while one runs has it run again by the next, with the same AGENCY_KEY.
- A ` + "`webhook`" + ` is posted JSON with ` + "`Idempotency-Key`" + `, the same when the same is sent again, and ` + "`X-Agency-Timestamp`" + `; with
  a ` + "`secret`" + `, ` + "`X-Agency-Signature`" + ` is ` + "`sha256=`" + ` and the HMAC, in hex, of the timestamp's digits followed by the body. No redirect is followed.
- A file for ` + "`agency run FILE`" + `, YAML or JSON by its name, holds settings as below and beside them ` + "`goal`" + ` (or
  ` + "`goal_anchor`" + `), ` + "`contracts`" + ` as a list in the form of the tool submit_plan, and ` + "`retry_budget_multiplier`" + ` (1 or 2).
  It may not ask for more than your own file, wherever it lies: it is judged by the rule of ` + "`agency.yaml`" + `, also in keys that
  your own file sets, and trust is given to ` + "`agency.yaml`" + ` alone. With contracts the mode is ` + "`multi_agent`" + ` where nobody names one.
- Keys marked *not yet* are accepted and checked but have no effect in this version. Where values are named with
  it, or the default is the only one that is not marked so, a run with one of those is refused.
- A file has at most 1 MiB.
`

func isStructList(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

func tableHead(b *strings.Builder) {
	b.WriteString("| key | value | default | meaning |\n| --- | --- | --- | --- |\n")
}

func section(b *strings.Builder, f field, v reflect.Value) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n", f.name, escapeCell(strings.ToUpper(f.doc[:1])+f.doc[1:]))
	switch {
	case f.typ.Kind() == reflect.Struct:
		tableHead(b)
		rows(b, f.name, f.typ, v)
	case f.name == "profiles":
		fmt.Fprintf(b, "A profile holds any of `%s`, each as at the top level. By default empty; for instance\n`profiles: {cheap: {budget: {usd: 2}, models: {capable: [anthropic/claude-haiku-4-5]}}}`, for `agency run --profile cheap`.\n", strings.Join(fieldNames(f.typ.Elem()), "`, `"))
	case f.name == "agents":
		agentsSection(b, f, v)
	case f.name == "providers":
		tableHead(b)
		rows(b, "providers.NAME", f.typ.Elem(), reflect.Value{})
		b.WriteString("\nBy default:\n\n")
		defaultsBlock(b, v, f)
	case isStructList(f.typ):
		tableHead(b)
		rows(b, f.name+"[]", f.typ.Elem(), reflect.Value{})
	case f.typ.Elem().Kind() == reflect.Struct:
		tableHead(b)
		rows(b, f.name+".NAME", f.typ.Elem(), reflect.Value{})
	case f.form == "resource":
		fmt.Fprintf(b, "By default empty; for instance `%s: {build: 1, gpu: 2}`, each a %s.\n\n%s", f.name, valueOf(f.elem()), scarce)
	case f.typ.Elem().Kind() == reflect.Int:
		fmt.Fprintf(b, "By default empty; for instance `%s: {local/model: 32768}`.\n", f.name)
	default:
		b.WriteString("By default:\n\n")
		defaultsBlock(b, v, f)
	}
}

// scarce is what people have to know of resources beside their names.
const scarce = `- A command that needs a resource holds one of its slots while it runs, and no longer: an agent that thinks holds
  nothing. Waiting for it counts neither to the time of the command nor to that of the session; a pause of the run ends
  it, and a resume begins it anew. ` + "`agency watch`" + `, ` + "`agency inspect`" + ` and the tree say what waits for what;
  ` + "`agency doctor`" + ` says what is free.
- A command needs what ` + "`commands.needs`" + ` names for it, also where an agent types it within a line of its own or starts it
  otherwise (` + "`sh ./check.sh`" + `, ` + "`bash -c`" + `, after ` + "`cd`" + `, behind ` + "`timeout`" + `), with more arguments or from another place. Not seen
  is what a makefile, a package script or another program starts in turn, what stands in variables, and a part of a
  command that starts several. It needs as well what its contract and those above it name under ` + "`resources`" + `. It gets
  all of it at once, or waits holding nothing.
- Who waits in the runs of one repository comes first come first served: behind whoever needs one of the same and
  came before. Between repositories nobody queues: who has waited longer asks more often.
- The slots are locked files in your state folder, so that they count for all your runs, in whatever repository, and are
  free again when their holder is gone. Runs whose configurations count a resource differently use the slots up to their
  own count. A repository's file may count less than your own; more needs your trust, where your own file has the name.
- Not held for: MCP servers, other coding agents that run a session, and what these start by themselves, for they last
  as long as a session. Where the sandbox has gaps a command may outlive a host that is killed, and its slot.
`

func defaultsBlock(b *strings.Builder, v reflect.Value, f field) {
	p := &printer{loaded: &Loaded{state: newState()}}
	for _, k := range mapKeys(v, f) {
		e := v.MapIndex(reflect.ValueOf(k))
		if e.Kind() == reflect.Struct {
			var parts []string
			for _, ef := range fieldsOf(e.Type()) {
				if fv := e.Field(ef.index); !fv.IsZero() {
					parts = append(parts, ef.name+": "+plainValue(fv))
				}
			}
			p.line(k+": {"+strings.Join(parts, ", ")+"}", "")
			continue
		}
		p.line(k+": "+plainValue(e), "")
	}
	b.WriteString("```yaml\n" + f.name + ":\n")
	for line := range strings.Lines(p.b.String()) {
		b.WriteString("  " + line)
	}
	b.WriteString("```\n")
}

func agentsSection(b *strings.Builder, f field, v reflect.Value) {
	tableHead(b)
	rows(b, "agents.ROLE", f.typ.Elem(), reflect.Value{})
	var aliases []string
	for _, a := range sortedKeys(f.alias) {
		aliases = append(aliases, fmt.Sprintf("`%s` for `%s`", a, f.alias[a]))
	}
	fmt.Fprintf(b, "\nAlso accepted: %s. Of `overseer`, whose model is `overseer.model`, the limits count. By default:\n\n", strings.Join(aliases, ", "))
	fields := fieldsOf(f.typ.Elem())
	head, rule := "| role |", "| --- |"
	for _, ef := range fields {
		head, rule = head+" "+ef.name+" |", rule+" --- |"
	}
	b.WriteString(head + "\n" + rule + "\n")
	for _, role := range f.keys {
		a := v.MapIndex(reflect.ValueOf(role))
		none := !slices.ContainsFunc(fields, func(ef field) bool { return ef.form != "runtime" && InEffect("agents."+role+"."+ef.name) })
		b.WriteString("| `" + role + "`" + notYet(none) + " |")
		for _, ef := range fields {
			idle := !none && InEffect("agents.generalist."+ef.name) && !InEffect("agents."+role+"."+ef.name)
			b.WriteString(" " + plainValue(a.Field(ef.index)) + notYet(idle) + " |")
		}
		b.WriteByte('\n')
	}
}

func notYet(is bool) string {
	if is {
		return " (*not yet*)"
	}
	return ""
}

// laterValues marks the values of a key that a run of this version refuses: all that
// differ from the default, or those that are named.
func laterValues(f field, key string) string {
	values := f.enum
	switch {
	case f.form == "runtime":
		values = append(runtimes(), "acp:COMMAND")
	case f.typ.Kind() == reflect.String && f.enum == nil:
		values = []string{"postgres://a/b"}
	case f.typ.Kind() == reflect.Bool:
		values = []string{"true", "false"}
	}
	path := strings.Split(strings.Replace(key, "ROLE", "generalist", 1), ".")
	var later []string
	others := 0
	for _, value := range values {
		c := Defaults()
		if !putAt(reflect.ValueOf(&c).Elem(), path, value) {
			return ""
		}
		if slices.ContainsFunc(c.absent(), func(a absent) bool { return a.key == strings.Join(path, ".") }) {
			later = append(later, "`"+value+"`")
		} else if value != "" {
			others++
		}
	}
	switch {
	case len(later) == 0:
		return ""
	case others == 0:
		return " (*not yet*)"
	}
	return " (*not yet*: " + strings.Join(later, ", ") + ")"
}

// putAt puts a text or a switch at a path of a configuration; false where it is of
// another kind.
func putAt(v reflect.Value, path []string, value string) bool {
	switch {
	case len(path) > 0 && v.Kind() == reflect.Struct:
		f, ok := fieldNamed(v.Type(), path[0])
		return ok && putAt(v.Field(f.index), path[1:], value)
	case len(path) > 0 && v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		k := reflect.ValueOf(path[0]).Convert(v.Type().Key())
		e := reflect.New(v.Type().Elem()).Elem()
		if old := v.MapIndex(k); old.IsValid() {
			e.Set(old)
		}
		if !putAt(e, path[1:], value) {
			return false
		}
		v.SetMapIndex(k, e)
		return true
	case len(path) == 0 && v.Kind() == reflect.String:
		v.SetString(value)
		return true
	case len(path) == 0 && v.Kind() == reflect.Bool:
		v.SetBool(value == "true")
		return true
	}
	return false
}

func rows(b *strings.Builder, key string, t reflect.Type, v reflect.Value) {
	for _, f := range fieldsOf(t) {
		var fv reflect.Value
		if v.IsValid() {
			fv = v.Field(f.index)
		}
		if f.typ.Kind() == reflect.Struct {
			rows(b, key+"."+f.name, f.typ, fv)
			continue
		}
		row(b, f, key+"."+f.name, fv)
	}
}

func row(b *strings.Builder, f field, key string, v reflect.Value) {
	def := ""
	if v.IsValid() {
		def = "`" + plainValue(v) + "`"
		if v.Kind() == reflect.Map {
			def = "`{}`"
		}
	}
	doc := f.doc
	if f.required != "" {
		doc += "; required"
	}
	if !InEffect(strings.NewReplacer("ROLE", "generalist", "[]", "").Replace(key)) {
		doc += " (*not yet*)"
	} else {
		doc += laterValues(f, key)
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", key, valueOf(f), escapeCell(def), escapeCell(doc))
}

// valueOf describes what a key takes.
func valueOf(f field) string {
	if f.enum != nil {
		var words []string
		for _, e := range f.enum {
			if e != "" {
				words = append(words, "`"+e+"`")
			}
		}
		list := strings.Join(words, " or ")
		if f.typ.Kind() == reflect.Slice {
			return "list of " + list
		}
		return list
	}
	switch f.typ.Kind() {
	case reflect.Bool:
		return "`true` or `false`"
	case reflect.Slice:
		return "list of texts"
	case reflect.Map:
		return "mapping to lists of texts"
	case reflect.String:
		return "text"
	case reflect.Float64:
		return "number" + rangeOf(f)
	default:
		return "whole number" + rangeOf(f)
	}
}

func rangeOf(f field) string {
	switch {
	case f.min != "" && f.min == f.max:
		return ", " + f.min
	case f.above != "" && f.max != "":
		return ", more than " + f.above + ", at most " + f.max
	case f.min != "" && f.max != "":
		return ", " + f.min + " to " + f.max
	case f.min != "":
		return ", at least " + f.min
	}
	return ""
}

func escapeCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
