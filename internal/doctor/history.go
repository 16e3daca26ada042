package doctor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/text"
)

// Why lines of a history are left out, as they are counted.
const (
	leftBroken   = "no event"
	leftLong     = "too long"
	leftTypeless = "without a type"
	leftUnknown  = "of an unknown type"
	leftForm     = "with details of another form"
	leftNobody   = "of neither agent nor session"
	leftRepeated = "that repeat others"
)

// eventLine is an event as somebody wrote it, with what the last document of
// `run --json` has beside it.
type eventLine struct {
	agency.Event
	Time     json.RawMessage `json:"time"` // in the place of the event's
	ExitCode *int            `json:"exit_code"`
}

// framing tells whether a line is the first or the last of `run --json`, which are no
// events and no fault either.
func (l eventLine) framing() bool {
	e := l.Event
	return l.Type == "" && e.RunID != "" && (l.ExitCode != nil ||
		e.ID == 0 && l.Time == nil && e.Category == "" && e.AgentID == "" && e.Summary == "" && e.Details == nil)
}

// readEvent reads a line; what says why it is no event.
func readEvent(line []byte) (l eventLine, what string) {
	switch {
	case line[0] == '[':
		return l, "it begins a list, and is to be one event a line"
	case line[0] != '{':
		return l, "it is no JSON object"
	case bytes.Equal(line, []byte("{")):
		return l, "it goes on in the next line, and is to be one event a line"
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return l, formFault(err)
	}
	if len(l.Time) == 0 || string(l.Time) == "null" {
		return l, ""
	}
	var at time.Time
	if err := at.UnmarshalJSON(l.Time); err != nil {
		return l, fmt.Sprintf("time is %s, want a time such as %q", text.OneLine(string(l.Time), 80), "2026-01-02T15:04:05Z")
	}
	l.Event.Time = at
	return l, ""
}

// oneALine is how a history gets the form that is read, by what stands at its beginning.
func oneALine(name string, line []byte) string {
	if name == "-" || name == "" {
		name = "FILE"
	}
	switch {
	case len(line) == 0:
	case line[0] == '[':
		return "jq -c '.[]' " + name
	case bytes.Equal(line, []byte("{")):
		return "jq -c . " + name
	}
	return "agency watch RUN --json prints those of a run"
}

// formFault says of JSON that is not what was to be read which field it is, and what is
// wanted, in the words of the reference of events.
func formFault(err error) string {
	var form *json.UnmarshalTypeError
	var broken *json.SyntaxError
	switch {
	case errors.As(err, &form):
		var path []string
		for _, name := range strings.Split(form.Field, ".") {
			if name != "" && (name[0] < 'A' || name[0] > 'Z') { // else a type that the fields come from
				path = append(path, name)
			}
		}
		return fmt.Sprintf("%s is %s, want %s", cmp.Or(strings.Join(path, "."), "it"), formOf(form.Value), wanted(form.Type))
	case errors.As(err, &broken):
		return fmt.Sprintf("its JSON is broken after byte %d", broken.Offset)
	}
	return text.OneLine(err.Error(), 200)
}

// formOf is what stands there, by the library's word for it.
func formOf(value string) string {
	switch kind, rest, _ := strings.Cut(value, " "); kind {
	case "string":
		return "a text"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	default:
		return cmp.Or(rest, "a number")
	}
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		one := wanted(t.Elem())
		return "a list, each of it " + one
	case reflect.Struct, reflect.Map, reflect.Pointer, reflect.Interface:
		return "an object"
	}
	return "a whole number"
}

// ranges are the values of an event that cannot be, each in words.
type ranges struct{ out []string }

func (r *ranges) least(field string, n int64) {
	if n < 0 {
		r.out = append(r.out, fmt.Sprintf("%s is %d, want 0 or more", field, n))
	}
}

func (r *ranges) share(field string, x float64) {
	if x < 0 || x > 1 {
		r.out = append(r.out, fmt.Sprintf("%s is %g, want 0 to 1", field, x))
	}
}

// oneOf is for values that a later version may have more of.
func oneOf[T ~string](r *ranges, field string, value T, known []T) {
	if value == "" || slices.Contains(known, value) {
		return
	}
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	r.out = append(r.out, fmt.Sprintf("%s is %q, want one of %s", field, text.Head(string(value), 64), strings.Join(words, ", ")))
}

func (r *ranges) digests(d agency.CallDigests) {
	r.share("share", d.Share)
	r.least("errors", int64(d.Errors))
}

func (r *ranges) dangers(all []agency.DangerKind) {
	for _, k := range all {
		oneOf(r, "danger", k, agency.DangerKinds())
	}
}

func (r *ranges) overseen(o *agency.Overseen) {
	if o != nil {
		r.share("confidence", o.Confidence)
		r.least("waits_for_cooldown_seconds", int64(o.Cooldown))
	}
}

// outOfRange names the values of an event that cannot be, of those that the detectors
// look at.
func outOfRange(e agency.Event, d agency.Detail) []string {
	var r ranges
	oneOf(&r, "severity", e.Severity, agency.Severities())
	switch d := d.(type) {
	case *agency.Spawned:
		r.least("attempt", int64(d.Attempt))
	case *agency.ToolCalled:
		r.least("turn", int64(d.Turn))
		r.digests(d.CallDigests)
		oneOf(&r, "use", d.Use, agency.CommandUses())
		r.dangers(d.Danger)
	case *agency.ToolRefused:
		r.least("turn", int64(d.Turn))
		r.digests(d.CallDigests)
		r.dangers(d.Danger)
	case *agency.TurnCompleted:
		r.least("turn", int64(d.Turn))
		r.least("tokens_in", d.In)
		r.least("tokens_cached", d.Cached)
		r.least("tokens_out", d.Out)
		r.least("files.before", int64(d.Files.Before))
		r.least("files.gone", int64(d.Files.Gone))
	case *agency.TestsRun:
		r.least("passed", int64(d.Passed))
		r.least("failed", int64(d.Failed))
		r.least("skipped", int64(d.Skipped))
	case *agency.EpochBegun:
		r.least("turn", int64(d.Turn))
		r.least("folded", int64(d.Folded))
	case *agency.Nudged:
		r.overseen(&d.Overseen)
	case *agency.Halted:
		r.overseen(&d.Overseen)
	case *agency.Escalated:
		r.overseen(d.Overseen)
	case *agency.Log:
		r.overseen(d.Overseen)
		r.least("missed_heartbeats", int64(d.Missed))
	}
	return r.out
}
