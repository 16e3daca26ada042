package pattern

import "agency/internal/regexp"

// frameLine is a line that a composition writes around the words of agents.
var frameLine = regexp.MustCompile(`(?im)^([ \t]*)(#{1,6}[ \t]*(?:ORIGINAL USER REQUEST|ANALYSIS GATHERED|MESSAGE FROM AGENT|BROADCASTS|CLARIFICATION REQUEST FROM|From )|Still in the team:|No member is left in the team|Not all that was said fits into|This is your last turn|Nobody has said anything new|Agents that you can ask again)`)

// framed are the words of one agent, or of whoever asked, as they stand among those of others:
// no line of theirs can be taken for one that says whose the words are that follow it.
func framed(words string) string { return frameLine.ReplaceAllString(words, `$1\$2`) }
