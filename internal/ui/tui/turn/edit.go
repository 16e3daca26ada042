package turn

import (
	"encoding/json"
	"strings"

	"agency/internal/ui/tui"
)

// edit is a call that changes a file as the lines of a diff, with the file that it names; none:
// it is no such call.
func edit(c call) (changed []string, path string) {
	var a struct {
		Path    string `json:"path"`
		Old     string `json:"old_text"`
		New     string `json:"new_text"`
		Content string `json:"content"`
		Patch   string `json:"patch"`
	}
	if json.Unmarshal(c.args, &a) != nil {
		return nil, ""
	}
	switch c.tool {
	case "edit_file":
		return diff(lines(a.Old), lines(a.New)), a.Path
	case "write_file":
		return diff(nil, lines(a.Content)), a.Path
	case "apply_patch":
		return lines(strings.TrimSpace(tui.Clean(a.Patch))), ""
	}
	return nil, ""
}

// lines are those of a text, safe for a terminal.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(tui.Clean(s), "\n"), "\n")
}

// diff is how lines became others: what both begin and end with is left out but for the line
// beside the change, and within it lines are kept that are in both in the same order.
func diff(old, now []string) []string {
	from := 0
	for from < len(old) && from < len(now) && old[from] == now[from] {
		from++
	}
	end := 0
	for end < len(old)-from && end < len(now)-from && old[len(old)-1-end] == now[len(now)-1-end] {
		end++
	}
	var out []string
	if from > 0 {
		out = append(out, " "+old[from-1])
	}
	out = append(out, between(old[from:len(old)-end], now[from:len(now)-end])...)
	if end > 0 {
		out = append(out, " "+old[len(old)-end])
	}
	return out
}

// mostCells bounds the work on one diff; larger ones are all old lines, then all new ones.
const mostCells = 1 << 20

// between is the shortest way from some lines to others.
func between(old, now []string) (out []string) {
	if len(old)*len(now) > mostCells {
		for _, l := range old {
			out = append(out, "-"+l)
		}
		for _, l := range now {
			out = append(out, "+"+l)
		}
		return out
	}
	common := make([][]int, len(old)+1) // of what follows
	for i := range common {
		common[i] = make([]int, len(now)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(now) - 1; j >= 0; j-- {
			if old[i] == now[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(now) {
		switch {
		case i < len(old) && j < len(now) && old[i] == now[j]:
			out = append(out, " "+old[i])
			i, j = i+1, j+1
		case j == len(now) || i < len(old) && common[i+1][j] >= common[i][j+1]:
			out = append(out, "-"+old[i])
			i++
		default:
			out = append(out, "+"+now[j])
			j++
		}
	}
	return out
}

// paint gives the lines of a diff their colours, below an event.
func paint(st tui.Style, all []string) []string {
	out := make([]string, len(all))
	for i, l := range all {
		out[i] = strings.TrimSuffix(line(st, "    ", inkOf(l), strings.ReplaceAll(l, "\t", "    ")), "\n")
	}
	return out
}

// inkOf is how a line of a diff looks.
func inkOf(line string) tui.Ink {
	switch {
	case strings.HasPrefix(line, "+"):
		return tui.Green
	case strings.HasPrefix(line, "-"):
		return tui.Red
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "***"):
		return tui.Cyan
	}
	return tui.Plain
}
