package overseer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// A history need not be written by this program: somebody may know an event's fields
// and none of its digests. What tells calls apart is then taken from what is there.

var (
	opaque  = regexp.MustCompile(`^[0-9A-Za-z:+/=_-]{1,128}$`) // a digest of whatever kind
	arrow   = regexp.MustCompile(`\s(->|=>|→)\s`)
	name    = regexp.MustCompile(`^[\w./@+-]*$`) // of a file, perhaps
	command = regexp.MustCompile(`"command"\s*:\s*("(?:[^"\\]|\\.)*")`)
)

// words completes a call's digests. Vague is set where they do not tell one change from
// another; blind, where no answer is told.
func words(d agency.CallDigests, tool, summary, failed string) (out agency.CallDigests, said string, vague, blind bool) {
	if d.CallShape != "" {
		return d, "", false, false
	}
	said = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(summary), tool))
	answer := ""
	if at := arrow.FindStringIndex(said); at != nil && d.Call == "" && d.Answer == "" {
		said, answer = said[:at[0]], said[at[1]:]
	}
	switch {
	case d.Call == "":
		vague = name.MatchString(said)
		d.Call, d.CallShape = Digest([]byte(tool+" "+said)), Shape([]byte(tool+" "+said))
	case opaque.MatchString(d.Call):
		d.CallShape = d.Call
	default:
		said = strings.TrimSpace(strings.TrimPrefix(d.Call, tool))
		d.Call, d.CallShape = Digest([]byte(said)), Shape([]byte(said))
	}
	answer = cmp.Or(d.Answer, answer, failed)
	if said != "" && beside(answer, []byte(said)) == echoed {
		answer, d.Answer = echoed, echoed
	}
	d.Share, d.Errors = cmp.Or(d.Share, shareOf(answer)), cmp.Or(d.Errors, errorsOf(answer))
	switch {
	case answer == "":
		blind = true
	case d.AnswerShape != "":
	case d.Answer != "" && opaque.MatchString(d.Answer):
		d.AnswerShape = d.Answer
	default:
		d.Answer, d.AnswerShape = Digest([]byte(answer)), Shape([]byte(answer))
	}
	return d, said, vague, blind
}

// lineOf is the command that the words of a call run, as the arguments of its tool.
func lineOf(said string) []byte {
	if m := command.FindStringSubmatch(said); m != nil {
		return []byte(`{"command":` + m[1] + `}`)
	}
	args, _ := json.Marshal(map[string]string{"command": said}) // a string is always JSON
	return args
}

// supposed is the answer of a call that nobody tells of: what it was, unless a file
// was changed since.
func supposed(changes int) (answer, shape string) {
	answer = Digest(fmt.Append(nil, "after change ", changes))
	return answer, answer
}
