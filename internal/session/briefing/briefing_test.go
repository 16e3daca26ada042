package briefing

import "testing"

func TestCutDiff(t *testing.T) {
	one, two := "diff --git a/a b/a\n+1\n", "diff --git a/b b/b\n+2\n"
	for most, want := range map[int]string{5: "", len(one): one, len(one) + 3: one, len(one + two): one + two} {
		if got := cutDiff(one+two, most); got != want {
			t.Errorf("%d: %q, want %q", most, got, want)
		}
	}
}
