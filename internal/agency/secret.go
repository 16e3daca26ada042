package agency

import (
	"math"
	"strings"
	"unicode/utf8"
)

// What a secret is, in one place. Secrets are handed in as such, but many are
// none: local servers want a key and take any word, and taking "placeholder"
// or "ollama" out of what is written would mangle text that holds no secret. A
// text is a secret by how hard it is to guess, and by standing nowhere in what
// everybody may read: the repository's path, the names of providers, hosts and
// models.
const (
	// minSecret is the fewest bytes of a secret.
	minSecret = 8
	// secretBits is the least that a secret takes to guess: what eight random
	// letters and digits take, less than half of any provider's keys.
	secretBits = 34
	// wordBits is what a word of a language takes, however long it is.
	wordBits = 11
	// longWord is the longest run of letters of one case that is a word.
	longWord = 14
)

// placeholders are the words of which keys are made that are none; they take
// nothing to guess.
const placeholders = " ai an ant anthropic any api apikey auth azure bearer change changeme default demo deepseek dev dummy empty example" +
	" fake foo bar baz gemini google goes gpt groq here ignored insert key keys lab llama lm lmstudio local localhost me" +
	" mistral mock my nil no none not null needed ollama only openai openrouter or paste pass password placeholder proj" +
	" provider replace required sample secret server set sk some studio test tests testing the this to todo token unused use" +
	" user value vllm with xx xxx your "

// IsSecret tells whether a text that was handed in as a secret is one.
// ordinary are the texts in which no secret stands: what occurs in one of them
// is none.
func IsSecret(text string, ordinary ...string) bool {
	if len(text) < minSecret || text == Redacted {
		return false
	}
	lower := strings.ToLower(text)
	for _, o := range ordinary {
		if strings.Contains(strings.ToLower(o), lower) {
			return false
		}
	}
	return guesses(text, false) >= secretBits
}

// guesses is how many bits it takes to guess a text that is made of words,
// numbers and random letters. Where strict, words take none: a piece of a
// secret is told from ordinary text by what is random in it alone.
func guesses(text string, strict bool) float64 {
	var bits float64
	for len(text) > 0 {
		n := lengthOfRun(text)
		bits += runBits(text[:n], strict)
		text = text[n:]
	}
	return bits
}

type class uint8

const (
	separator class = iota
	digit
	capital
	small
	sign
)

func classOf(c byte) class {
	switch {
	case c >= '0' && c <= '9':
		return digit
	case c >= 'A' && c <= 'Z':
		return capital
	case c >= 'a' && c <= 'z':
		return small
	case c <= ' ' || strings.IndexByte("-_./:", c) >= 0:
		return separator
	}
	return sign
}

// lengthOfRun is the length of the run that a text begins with: digits, signs,
// or letters up to a hump.
func lengthOfRun(text string) int {
	was := classOf(text[0])
	for i := 1; i < len(text); i++ {
		is := classOf(text[i])
		if is != was && (was != capital || is != small) {
			return i
		}
		was = is
	}
	return len(text)
}

func runBits(run string, strict bool) float64 {
	switch classOf(run[0]) {
	case separator:
		return 0
	case digit:
		return math.Log2(10) * fresh(run)
	case sign:
		return 4 * min(fresh(run), float64(utf8.RuneCountInString(run)))
	}
	letters := math.Log2(26) * fresh(run)
	word := strings.ToLower(run)
	switch {
	case run[1:] != word[1:] && run != strings.ToUpper(run):
		return math.Log2(52) * fresh(run) // neither a word nor a Word nor a WORD
	case strings.Contains(placeholders, " "+word+" "):
		return 0
	case len(run) > longWord:
		return letters
	case strict && len(run) > 3:
		return 0
	}
	return min(wordBits, letters)
}

// fresh counts the bytes of a run that neither repeat nor continue the one
// before: xxxx and 1234 take as much as x and 1 do.
func fresh(run string) float64 {
	n := 1.0
	for i := 1; i < len(run); i++ {
		if d := int(run[i]) - int(run[i-1]); d < -1 || d > 1 {
			n++
		}
	}
	return n
}
