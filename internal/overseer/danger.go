package overseer

import (
	"encoding/json"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// What commands and outside texts look like that can do harm. The sandbox is what
// keeps it from being done; here it is told that somebody tried. Commands are
// matched where one begins, without what is quoted.
var (
	quoted          = regexp.MustCompile(`'[^']*'|"(?:[^"\\]|\\.)*"`)
	between         = regexp.MustCompile(`[;&|\n()]+`)
	before          = regexp.MustCompile(`^(\s*(sudo|exec|command|time|nice|xargs|then|do|else|!)\s+|\s*\w+=\S*\s+|\s+)+`)
	rewritesHistory = regexp.MustCompile(`^git(\s+(-[Cc]\s+\S+|-\S+))*\s+(push\b.*\s(--force\b|--force-with-lease\b|-f\b|--mirror\b|\+\S)|filter-branch\b|filter-repo\b|update-ref\s+-d\b|reflog\s+(expire|delete)\b)|` +
		`^rm\s.*(^|[\s/])\.git/?(\s|$)`)
	deletesMuch = regexp.MustCompile(`^rm\s+(-\S+\s+)*(-\w*[rR]\w*|--recursive)\s+(-\S+\s+)*(/|/\*|~|~/|~/\*|\$HOME|\$\{HOME\}|\$PWD|\.|\./|\*|\./\*|\.\.|\.\./\*?)(\s|$)|` +
		`^git\s+rm\s+(-\S+\s+)*\.(\s|$)|^find\s+(\.|/|~)(\s+-type\s+f)?\s+-delete\b|^mkfs\b`)
	elsewhere     = regexp.MustCompile(`(^|[;&|(\n]\s*)(cd|pushd)\s|\bmktemp\b`)
	leavesSandbox = regexp.MustCompile(`^(unshare|nsenter|mount|umount|chroot|pivot_root|insmod|modprobe)\s|/proc/(1|self)/root\b|docker\.sock\b|\brelease_agent\b`)
	givesOrders   = regexp.MustCompile(`(?i)\b(ignore|disregard|forget)\s+(all\s+|any\s+)?(of\s+)?(the\s+|your\s+|these\s+)?(previous|prior|above|earlier|preceding|system)\s+(instructions?|prompts?)|` +
		`<\|im_start\|>|(?i)\b(new|updated) (system )?(instructions?|prompt) (for|to) (the )?(ai|assistant|agent|model)\b|` +
		`(?i)\b(ai|assistant|language model|coding agent)s?\b[^.\n]{0,40}\bmust now\b`)
	waiting = regexp.MustCompile(`(^|[\s;&|(])sleep\s+\d|\s--watch\b|^wait\b`)
)

// mostRead is how much of an answer is searched for orders.
const mostRead = 64 << 10

// Dangers names what of a call can do harm: what it asked for, and what it was
// shown.
func Dangers(tool string, args []byte, answer string, failed bool) []agency.DangerKind {
	var out []agency.DangerKind
	line := commandLine(tool, args)
	bare := quoted.ReplaceAllString(line, "x")
	there := !elsewhere.MatchString(bare) // a deletion in another folder is one of less
	seen := map[agency.DangerKind]bool{}
	for _, one := range between.Split(bare, -1) {
		one = strings.TrimSpace(before.ReplaceAllString(one, ""))
		for _, r := range []struct {
			form *regexp.Regexp
			kind agency.DangerKind
			when bool
		}{
			{rewritesHistory, agency.DangerHistory, there || !strings.HasPrefix(one, "rm")},
			{deletesMuch, agency.DangerDeletion, there},
			{leavesSandbox, agency.DangerEscape, failed},
		} {
			if r.when && !seen[r.kind] && r.form.MatchString(one) {
				seen[r.kind] = true
				out = append(out, r.kind)
			}
		}
	}
	if strings.Contains(answer, agency.Redacted) {
		out = append(out, agency.DangerSecret)
	}
	if k := kinds[tool]; (k == reads || k == runs) && givesOrders.MatchString(answer[:min(len(answer), mostRead)]) {
		out = append(out, agency.DangerInjection)
	}
	return out
}

// Waits tells whether a call runs a command that itself waits.
func Waits(tool string, args []byte) bool { return waiting.MatchString(commandLine(tool, args)) }

// What of a line only looks or speaks. A redirection writes, and so may options.
var (
	looks = regexp.MustCompile(`^(cat|head|tail|less|ls|tree|pwd|wc|grep|rg|egrep|fgrep|find|stat|file|du|which|type|sort|uniq|cut|nl|awk|sed -n|git (-C \S+ )?(status|log|diff|show|blame|grep|ls-files|rev-parse))\b`)
	asks  = regexp.MustCompile(`^(curl|wget|nc|ping|dig|nslookup|grpcurl|pg_isready|mysqladmin|redis-cli|ss|netstat|lsof|ps|pgrep|jobs|uptime|` +
		`kubectl (get|describe|logs|rollout status)|(docker|podman)( compose)? (ps|logs|inspect|stats)|systemctl (status|is-active)|service \S+ status|gh (run|pr|workflow|api))\b`)
	speaks   = regexp.MustCompile(`^(echo|printf|true|:|#)(\s|$)`)
	enters   = regexp.MustCompile(`^cd\s`)
	writes   = regexp.MustCompile(`>|\btee\b|\s-(delete|exec|ok|fprint\w*)\b|\$\(|` + "`" + `|\bsystem\(`)
	nowhere  = regexp.MustCompile(`\d*>+\s*(/dev/null|&\d)`)
	segments = regexp.MustCompile(`[;&|\n]+`)
)

// UseOf is what a call's command is for, where every part of its line tells.
func UseOf(tool string, args []byte) agency.CommandUse {
	bare := nowhere.ReplaceAllString(quoted.ReplaceAllString(commandLine(tool, args), "x"), "")
	if writes.MatchString(bare) {
		return ""
	}
	var out agency.CommandUse
	for _, part := range segments.Split(bare, -1) {
		switch part = strings.TrimSpace(part); {
		case part == "" || enters.MatchString(part):
		case asks.MatchString(part):
			out = agency.UseAsk
		case looks.MatchString(part):
			if out != agency.UseAsk { // of whose answer it shows a part
				out = agency.UseLook
			}
		case !speaks.MatchString(part):
			return ""
		case out == "":
			out = agency.UseSay
		}
	}
	return out
}

// commandLine is what a call runs in a shell.
func commandLine(tool string, args []byte) string {
	var a struct {
		Command string `json:"command"`
	}
	if tool != "run_command" || json.Unmarshal(args, &a) != nil {
		return ""
	}
	return a.Command
}
