package briefing

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"agency/internal/tool"
)

// mostBeside is how many files of one folder an overview names.
const mostBeside = 40

// overview lists the files of a tree, a folder a line, down to so many levels: as many as
// there is room for where the files and folders that are named are to be at most so many.
func overview(files []string, depth, most int) string {
	var lines []string
	for ; depth > 0; depth-- {
		named := 0
		if lines, named = level(files, depth); named <= most {
			break
		}
	}
	if over := len(lines) - most; over > 0 {
		lines = append(lines[:most], fmt.Sprintf("[%d more folders]", over))
	}
	return strings.Join(lines, "\n")
}

// level is an overview down to a level, and how many files and folders it names. What is
// deeper is counted at the folder that it is in.
func level(files []string, depth int) (lines []string, named int) {
	within := map[string][]string{} // by folder
	below := map[string]int{}
	var folders []string
	for _, f := range files {
		parts := strings.Split(f, "/")
		at := min(len(parts)-1, depth-1)
		dir := strings.Join(parts[:at], "/")
		if _, seen := within[dir]; !seen {
			folders = append(folders, dir)
		}
		if at == len(parts)-1 {
			within[dir] = append(within[dir], tool.Printable(parts[at]))
			continue
		}
		deep := path.Join(dir, parts[at])
		if below[deep]++; below[deep] == 1 {
			within[dir] = append(within[dir], deep+"/")
		}
	}
	slices.Sort(folders)
	for _, dir := range folders {
		names := within[dir]
		named += 1 + min(len(names), mostBeside)
		for i, name := range names {
			if deep, is := strings.CutSuffix(name, "/"); is {
				names[i] = fmt.Sprintf("%s/(%d)", tool.Printable(path.Base(deep)), below[deep])
			}
		}
		if over := len(names) - mostBeside; over > 0 {
			names = append(names[:mostBeside:mostBeside], fmt.Sprintf("[%d more]", over))
		}
		lines = append(lines, tool.Printable(cmp.Or(dir, "."))+"/: "+strings.Join(names, " "))
	}
	return lines, named
}
