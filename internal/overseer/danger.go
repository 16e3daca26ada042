package overseer

import (
	"encoding/json"
	"regexp"
	"strings"

	"agency/internal/agency"
)

// What commands and outside texts look like that can do harm. The sandbox is what
// keeps it from being done; here it is told that somebody tried.
var (
	rewritesHistory = regexp.MustCompile(`\bgit(\s+(-[Cc]\s+\S+|-\S+))*\s+(push\b[^|;&]*\s(--force\b|--force-with-lease\b|-f\b|--mirror\b|\+\S)|filter-branch\b|filter-repo\b|update-ref\s+-d\b|reflog\s+(expire|delete)\b)|` +
		`\brm\s+(-\S+\s+)*[^|;&]*(^|[\s/"'])\.git/?(["'\s]|$)`)
	deletesMuch = regexp.MustCompile(`\brm\s+(-\S+\s+)*-\w*[rR]\w*\s+(-\S+\s+)*["']?(/|/\*|~|~/|~/\*|\$HOME|\.|\./|\*|\./\*|\.\.|\.\./\*?)["']?(\s|;|&|\||$)|` +
		`\bgit\s+rm\s+(-\S+\s+)*\.(\s|;|$)|\bfind\s+(\.|/|~)\s+-delete\b|\bmkfs\b|\bdd\b[^|;&]*\bof=/dev/`)
	leavesSandbox = regexp.MustCompile(`(^|[\s;&|(])(unshare|nsenter|mount|umount|chroot|pivot_root|insmod|modprobe)\s|/proc/(1|self)/root\b|docker\.sock\b|\brelease_agent\b`)
	givesOrders   = regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\s+(all\s+|any\s+)?(of\s+)?(the\s+|your\s+|these\s+)?(previous|prior|above|earlier|preceding|system)\s+(instructions?|prompts?|rules|directions|messages)|` +
		`<\|im_start\|>|\[/?INST\]|(?i)\b(new|updated) (system )?(instructions?|prompt) (for|to) (the )?(ai|assistant|agent|model)\b|` +
		`(?i)\b(ai|assistant|language model|coding agent)s?\b[^.\n]{0,40}\bmust now\b`)
)

// mostRead is how much of an answer is searched for orders.
const mostRead = 64 << 10

// Dangers names what of a call can do harm: what it asked for, and what it was
// shown.
func Dangers(tool string, args []byte, answer string, failed bool) []agency.DangerKind {
	var out []agency.DangerKind
	if tool == "run_command" {
		var a struct {
			Command string `json:"command"`
		}
		if json.Unmarshal(args, &a) == nil {
			for _, r := range []struct {
				form *regexp.Regexp
				kind agency.DangerKind
				only bool // where it failed
			}{{rewritesHistory, agency.DangerHistory, false}, {deletesMuch, agency.DangerDeletion, false}, {leavesSandbox, agency.DangerEscape, true}} {
				if (failed || !r.only) && r.form.MatchString(a.Command) {
					out = append(out, r.kind)
				}
			}
		}
	}
	if strings.Contains(answer, agency.Redacted) {
		out = append(out, agency.DangerSecret)
	}
	if k := kinds[tool]; k == reads || k == runs {
		answer = answer[:min(len(answer), mostRead)]
		if givesOrders.MatchString(answer) {
			out = append(out, agency.DangerInjection)
		}
	}
	return out
}
