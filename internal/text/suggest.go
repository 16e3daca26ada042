package text

import (
	"fmt"
	"strings"
)

// Suggestion is " (did you mean X?)" for the nearest of the known words, or "".
func Suggestion(word string, known []string) string {
	best, bestAt := "", max(1, len(word)/3)+1
	for _, k := range known {
		if k == "" {
			continue
		}
		if d := distance(strings.ToLower(word), k); d < bestAt {
			best, bestAt = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between two words (optimal string alignment); '-' and '_' are
// alike.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	a, b = strings.ReplaceAll(a, "-", "_"), strings.ReplaceAll(b, "-", "_")
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
