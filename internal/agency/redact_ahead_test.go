package agency

import (
	"testing"

	"pgregory.net/rapid"

	"agency/internal/text"
)

// However a text is parted while it comes, what is shown of it holds no more of a
// secret than what is shown of it whole.
func TestAheadIsBytes(t *testing.T) {
	const key, other = "sk-ant-api03-R2D2c3poLuke9xWz-7fKqPvN3mYt8aQ", "aXkQ9aXkQ9pLw2sTaXkQ9"
	r := NewRedactor(key, other)
	parts := []string{
		"the key is ", " and then ", "\n", " ", `"`, `\`, `\n`, "sk-ant-", "a", "é日", text.Ellipsis, text.BytesLeftOut(312), "[", "[... 12",
	}
	for _, f := range r.forms {
		parts = append(parts, f.text, f.text[:len(f.text)/2], f.text[len(f.text)/3:])
	}
	rapid.Check(t, func(t *rapid.T) {
		var whole string
		for range rapid.IntRange(1, 8).Draw(t, "parts") {
			whole += rapid.SampledFrom(parts).Draw(t, "part")
		}
		var shown, rest []byte
		for left := whole; left != ""; {
			n := min(len(left), rapid.IntRange(1, 30).Draw(t, "bytes"))
			var clean []byte
			clean, rest = r.Ahead(append(rest, left[:n]...))
			shown = append(shown, clean...)
			left = left[n:]
		}
		shown = append(shown, r.Bytes(rest)...)
		want := r.Bytes([]byte(whole))
		if r.Count(shown) > r.Count(want) {
			t.Fatalf("%q is shown as %q, want %q", whole, shown, want)
		}
	})
}

// A cut stays with what stands behind it, also where a text is parted within the blanks
// between the two.
func TestAheadKeepsCuts(t *testing.T) {
	r := NewRedactor("aXkQ9aXkQ9pLw2sTaXkQ9")
	whole := "\n" + text.Ellipsis + `\naXkQ9aXkQ9`
	for n := range len(whole) {
		clean, rest := r.Ahead([]byte(whole[:n]))
		shown := append(clean, r.Bytes(append(rest, whole[n:]...))...)
		if want := r.Bytes([]byte(whole)); string(shown) != string(want) {
			t.Errorf("parted at %d it is shown as %q, want %q", n, shown, want)
		}
	}
}

// What may be shown is not held back: nobody waits for a line that holds nothing secret.
func TestAheadHoldsLittle(t *testing.T) {
	r := NewRedactor("sk-ant-api03-R2D2c3poLuke9xWz-7fKqPvN3mYt8aQ")
	for said, held := range map[string]int{"I look at the parser first": 3, "the key is sk-ant-api0": 12, "as shown " + text.Ellipsis + " ": 4 + 4} {
		if clean, rest := r.Ahead([]byte(said)); len(rest) > held || string(clean)+string(rest) != said {
			t.Errorf("of %q %q is held back", said, rest)
		}
	}
	if clean, rest := (*Redactor)(nil).Ahead([]byte("x")); string(clean) != "x" || rest != nil {
		t.Errorf("without secrets %q is held back", rest)
	}
}
