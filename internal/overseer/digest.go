package overseer

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// Digest stands for a text in an event: two texts with one digest are the same.
func Digest(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Shape is the digest of a text without what changes although nothing is new:
// white space, numbers, and names that are only hexadecimal digits.
func Shape(text []byte) string {
	var out bytes.Buffer
	for _, word := range bytes.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && (unicode.IsSpace(r) || r < 0x80)
	}) {
		if !counts(word) {
			out.Write(word)
			out.WriteByte(' ')
		}
	}
	if out.Len() == 0 {
		return Digest(bytes.TrimSpace(text))
	}
	return Digest(out.Bytes())
}

// counts tells whether a word says only which one of many: it begins with a digit,
// or is a long hexadecimal name.
func counts(word []byte) bool {
	if word[0] >= '0' && word[0] <= '9' {
		return true
	}
	for _, c := range word {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(word) >= 7
}

// Canonical is JSON with sorted keys and no white space between, so that the order
// in which a model wrote arguments does not tell two calls apart. What is no JSON
// stays as it is.
func Canonical(args []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return args
	}
	out, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return out
}

// DigestsOf are those of a call by its arguments and what it was answered. What an
// edit takes out and puts in is told by the names of its arguments.
func DigestsOf(args json.RawMessage, answer string) agency.CallDigests {
	var edit struct {
		Old     string `json:"old_text"`
		New     string `json:"new_text"`
		Content string `json:"content"`
		Body    string `json:"new_content"`
	}
	_ = json.Unmarshal(args, &edit) // what is no edit has none of them
	lines := sample(answer, args)
	if edit.Content != "" {
		lines = sample(edit.Content, nil)
	}
	answer = beside(answer, args)
	args = Canonical(args)
	return agency.CallDigests{
		Call: Digest(args), CallShape: Shape(args), Answer: Digest([]byte(answer)), AnswerShape: Shape([]byte(answer)),
		Removed: Digest([]byte(edit.Old)), Added: Digest([]byte(cmp.Or(edit.New, edit.Content, edit.Body))),
		Lines: lines, Share: shareOf(answer), Errors: errorsOf(answer),
	}
}

// echoed is the answer of a call that prints what it says itself.
const echoed = "as the call says"

// beside is an answer, where it tells more than its call does.
func beside(answer string, args []byte) string {
	said := false
	for line := range strings.Lines(answer[:min(len(answer), mostSaid)]) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "exit code 0") {
			continue
		}
		if said = bytes.Contains(args, []byte(line)); !said {
			return answer
		}
	}
	if said {
		return echoed
	}
	return answer
}

// shares are how an answer says how far something has come: 37 %, 12/40, 12 of 40.
var shares = regexp.MustCompile(`\b(\d{1,3}(?:\.\d+)?) ?%|\b(\d{1,9})(?:/| of )(\d{1,9})\b`)

// shareOf is how far what an answer tells of has come, by the last line that says so;
// 0 where none does.
func shareOf(answer string) float64 {
	found := shares.FindAllStringSubmatch(answer[max(0, len(answer)-mostTail):], -1)
	if len(found) == 0 {
		return 0
	}
	m := found[len(found)-1]
	part, err := strconv.ParseFloat(cmp.Or(m[1], m[2]), 64)
	whole := 100.0
	if err == nil && m[3] != "" {
		whole, err = strconv.ParseFloat(m[3], 64)
	}
	if err != nil || whole <= 0 || part > whole {
		return 0
	}
	return math.Round(part/whole*1e4) / 1e4
}

// errors are how an answer says how much failed: Found 12 errors, 3 failed, Failures: 2.
var errs = regexp.MustCompile(`(?i)\b(\d{1,6}) (?:tests? |checks? )?(?:errors?|failed|failures?|failing|problems?)\b|\b(?:errors|failures|failed): ?(\d{1,6})\b`)

// errorsOf is how many errors an answer says there are, by the last line that does; 0 where
// none does.
func errorsOf(answer string) (n int) {
	for line := range strings.Lines(answer[max(0, len(answer)-mostTail):]) {
		found := errs.FindAllStringSubmatch(line, -1)
		if len(found) > 0 {
			n = 0
		}
		for _, m := range found {
			one, _ := strconv.Atoi(cmp.Or(m[1], m[2])) // digits
			n += one
		}
	}
	return n
}

const (
	oneOf    = 8        // lines of an answer that are not in its sample, for one that is
	mostLead = 48       // lines of a sample
	mostSaid = 64 << 10 // bytes of an answer that are sampled
	leastOf  = 4        // bytes that tell a line from others
	mostTail = 1 << 10  // bytes at an answer's end in which a share is sought
)

// sample is a sample of an answer's lines: those whose hash says so, whatever answer
// they stand in. Numbers at their head, which count lines, and what the call itself
// says are left out.
func sample(answer string, said []byte) []string {
	var out []string
	for line := range strings.Lines(answer[:min(len(answer), mostSaid)]) {
		line = strings.TrimSpace(strings.TrimLeft(line, " \t0123456789:"))
		if len(line) < leastOf || strings.HasPrefix(line, "exit code") {
			continue
		}
		if h := hash(line); h%oneOf == 0 && len(out) < mostLead && !bytes.Contains(said, []byte(line)) {
			out = append(out, strconv.FormatUint(h>>32, 36))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// hash tells texts apart in memory and in samples.
func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash never fails
	return h.Sum64()
}
