package acts

import (
	"path"
	"slices"
	"strings"

	"agency/internal/regexp"
)

// setupKeys are the settings of a setup.cfg that an installation runs or goes by,
// whatever their section: one of defaults stands for each.
var setupKeys = strings.Fields(`cmdclass setup_requires dependency_links command_packages setup_hooks index_url find_links extra_index_url
	allow_hosts executable`)

// setupSections are those of which all counts.
var setupSections = regexp.MustCompile(`^\[\s*(?:aliases|easy_install|distutils\.|backwards_compat|files\.hooks|entry_points\.distutils)`)

// setupConfig are those of a setup.cfg, each with the lines that are indented
// below it. It is read as configparser does, but each line may begin a key.
func setupConfig(src string) found {
	out, part, depth, section := found{}, "", 0, ""
	for line := range strings.FieldsFuncSeq(src, func(r rune) bool { return r == '\n' || r == '\r' }) {
		bare := strings.TrimSpace(line)
		if bare == "" || bare[0] == '#' || bare[0] == ';' {
			continue
		}
		if bare[0] == '[' {
			part, section = "", ""
			if setupSections.MatchString(strings.ToLower(bare)) {
				section = pipRuns + ": " + shorten(bare)
			}
			continue
		}
		key, value := bare, ""
		if i := strings.IndexAny(bare, "=:"); i >= 0 {
			key, value = bare[:i], strings.TrimSpace(bare[i+1:])
		}
		key = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(key)), "-", "_")
		indent := strings.Index(line, bare)
		switch {
		case slices.Contains(setupKeys, key):
			part, depth = pipRuns+": "+key, indent
		case indent <= depth:
			part = ""
		}
		switch {
		case part != "":
			out.add(part, bare)
		case section != "":
			out.add(section, bare)
		case key == "version" && strings.HasPrefix(value, "attr"):
			out.add(pipRuns+": version", value)
		}
		if strings.Contains(bare, "@") && strings.Contains(bare, ":") && !strings.HasPrefix(bare, "author") {
			out.downloads(bare, pythonGood)
		}
	}
	return out
}

// sources are the long options by which a file of requirements says from where
// packages come. Their beginnings count: pip takes them, too.
var sources = strings.Fields(`--index-url --pypi-url --extra-index-url --find-links --trusted-host --no-index --global-option --install-option --config-settings`)

var (
	pythonBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	unquoted     = strings.NewReplacer(`"`, "", `'`, "", `\`, "")
	// coding is how a file of python names another encoding.
	coding = regexp.MustCompile(`^[^\n]*#.*coding[:=]\s*([-\w.]+)|^[^\n]*\n[^\n]*#.*coding[:=]\s*([-\w.]+)`)
	plain  = regexp.MustCompile(`(?i)^(utf-?8|ascii|us-ascii|latin-?1|iso-8859-1)$`)
)

// requirements are the lines that say from where packages come, read as pip
// reads them. At is the file's own path: files that it reads are looked at only
// where their names say what they are.
func requirements(at, src string) found {
	if m := coding.FindStringSubmatch(src); m != nil && !plain.MatchString(m[1]+m[2]) {
		return opaque(src)
	}
	out := found{}
	src = strings.ReplaceAll(pythonBreaks.Replace(src), "\\\n", "")
	for line := range strings.Lines(src) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			continue
		}
		out.requirement(at, line)
	}
	return out
}

// another is the file of requirements that a line reads.
func another(line string) (file string, ok bool) {
	option, file := line, ""
	if i := strings.IndexAny(line, "= \t"); i >= 0 {
		option, file = line[:i], line[i+1:]
	}
	switch {
	case strings.HasPrefix(line, "-r") || strings.HasPrefix(line, "-c"):
		file = strings.TrimPrefix(line[2:], "=")
	case len(option) < 3 || !strings.HasPrefix("--requirement", option) && !strings.HasPrefix("--constraint", option):
		return "", false
	}
	file, _, _ = strings.Cut(file, " #")
	return strings.TrimSpace(file), true
}

// requirement adds what one line does.
func (f found) requirement(at, line string) {
	if file, ok := another(unquoted.Replace(line)); ok {
		if strings.Contains(file, ":") || !isRequirements(path.Join(path.Dir(at), file)) {
			f.add("reads requirements from elsewhere: "+shorten(file), line)
		}
		return
	}
	if strings.Contains(line, "${") {
		f.add(pipFrom+": "+shorten(line), line)
		return
	}
	words := strings.Fields(line)
	for i, word := range words {
		if strings.HasPrefix(word, "#") {
			words = words[:i]
			break
		}
		if names(unquoted.Replace(word)) {
			f.add(pipFrom+": "+shorten(line), line)
			return
		}
	}
	if strings.ContainsAny(line, `:\`) {
		f.downloads(strings.Join(words, " "), pythonGood)
	}
}

// requirementFiles are the files of requirements that are looked at by their names.
const requirementFiles = "*requirements*.txt *requirements*.in *requirements*.pip *requirements*.lock requirements/*.txt requirements/*.in requirements/*/*.txt reqs/*.txt constraints*.txt *-constraints.txt"

var requirementPatterns = patternsOf(requirementFiles)

func isRequirements(p string) bool {
	n := nameOf(p)
	return slices.ContainsFunc(requirementPatterns, func(one pattern) bool { return one.matches(n) })
}

// names tells whether a word is an option that says from where packages come.
func names(word string) bool {
	if strings.HasPrefix(word, "-i") || strings.HasPrefix(word, "-f") {
		return true
	}
	option, _, _ := strings.Cut(word, "=")
	return len(option) >= 3 && strings.HasPrefix(option, "--") &&
		slices.ContainsFunc(sources, func(s string) bool { return strings.HasPrefix(s, option) })
}
