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
	// longWord is the longest run of letters of one case that is a word however
	// it is written; a longer one is a word, or several joined, where it can be
	// spoken.
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
	case len(run) > longWord && !spoken(word):
		return letters
	case strict && len(run) > 3:
		return 0
	}
	return min(wordBits, letters)
}

// following is, for each letter, how many bits it takes to guess each letter
// after it within words, counted over English prose about programs.
const following = "" +
	"95449759597353959342668968" +
	"37573787369269489545389969" +
	"38573874594589278563588979" +
	"46452666388566458445476979" +
	"47435568799553757334867589" +
	"49663388288467379565497959" +
	"46453555488654458345476988" +
	"28662787389668368464688979" +
	"56455559998442369643959796" +
	"56662566666666366636366666" +
	"47562769399565667637596967" +
	"37652778398388359745578939" +
	"35782989399757439857587989" +
	"47444638497676569733667979" +
	"66458669696442549354455899" +
	"38663886499378349254598979" +
	"77777577777477777777177777" +
	"37552668396656369544567959" +
	"46453675396566548533476969" +
	"47562774299568569345587959" +
	"44465659499443749333999798" +
	"39771999399879499878889999" +
	"37563963397694399346779999" +
	"46463668388866628853888858" +
	"56454556497544437434665797" +
	"37771776477676677757676765"

// spokenBits is the most that a letter after another takes on average in what
// can be spoken: words take about 3.5, also joined, random letters about 6.
const spokenBits = 4.7

// spoken tells whether lower-case letters follow each other as in words.
func spoken(word string) bool {
	var sum int
	for i := 1; i < len(word); i++ {
		sum += int(following[int(word[i-1]-'a')*26+int(word[i]-'a')] - '0')
	}
	return float64(sum) <= spokenBits*float64(len(word)-1)
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
