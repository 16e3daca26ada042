package acts

import (
	"slices"
	"strings"
)

// Words with a colon behind them that lead nowhere else: a package's other name
// or version from the usual place, a folder of the repository, a digest.
var nowhere = strings.Fields(`npm jsr pypi conda workspace catalog virtual patch runtime sha1 sha224 sha256 sha384 sha512 md5`)

// Words with a colon behind them that lead into the repository, where no path out
// of it follows.
var inside = strings.Fields(`file link portal path`)

// public are hosts where anybody may put something: of those the owner counts, too.
var public = strings.Fields(`github.com api.github.com codeload.github.com raw.githubusercontent.com gist.github.com gitlab.com bitbucket.org
	codeberg.org git.sr.ht sourceforge.net`)

// unseen goes over what readers of addresses take out of them (WHATWG's URL).
func unseen(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// addresses tells of each address in a text that is not under one of the good
// ones where it leads, in a few words. Whatever some resolver takes for an
// address counts, a scheme or a host with a colon behind it: readers differ in
// slashes, backslashes, letters, users and blanks. An address is good only where
// it is written so that all of them read it alike: "https://" and a good one.
func addresses(text string, good []string, tell func(where string)) {
	if !strings.ContainsAny(text, `:/\`) {
		return
	}
	text = strings.TrimSpace(strings.Map(unseen, text))
	if strings.HasPrefix(text, "//") || strings.HasPrefix(text, `\`) {
		tell(hostOf(text))
		return
	}
	for at := 0; at < len(text); {
		colon := strings.IndexByte(text[at:], ':')
		if colon < 0 {
			return
		}
		colon += at
		from := colon
		for from > at && wordSign(text[from-1]) {
			from--
		}
		before, word, rest := text[:from], strings.ToLower(text[from:colon]), text[colon+1:]
		at = colon + 1
		if word == "" || startsDigit(word) && !strings.HasSuffix(before, "@") {
			continue
		}
		if n := goodLength(text[from:], good); n > 0 {
			at = from + n
			continue
		}
		if end := lengthOf(rest); leads(word, rest) {
			at += end
			switch {
			case strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, `\`) || slices.Contains(schemes, word):
				tell(hostOf(rest[:end]))
			case strings.Contains(word, "."): // user@host:path
				tell(hostOf(word + "/" + rest[:end]))
			default:
				owner, _, _ := strings.Cut(rest[:end], "/")
				tell(word + ":" + owner)
			}
		}
	}
}

// schemes are those whose host may follow without a slash.
var schemes = strings.Fields(`http https ftp ws wss git ssh git+https git+http git+ssh`)

func wordSign(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+-._", c) >= 0 || c >= 0x80
}

func startsDigit(s string) bool { return s[0] >= '0' && s[0] <= '9' }

// leads tells whether a word with a colon and what follows it leads somewhere
// else.
func leads(word, rest string) bool {
	switch {
	case slices.Contains(nowhere, word):
		return false
	case slices.Contains(inside, word):
		return strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, `\`) || strings.HasPrefix(rest, "~") || len(rest) > 1 && rest[1] == ':'
	case slices.Contains(schemes, word):
		return true
	}
	return rest != "" && rest[0] != ' '
}

// goodLength is the length of the good address that a text begins with; 0: none.
func goodLength(text string, good []string) int {
	for _, g := range good {
		if !strings.Contains(g, "://") {
			g = "https://" + g
		}
		if strings.HasPrefix(text, g) && (len(text) == len(g) || strings.HasSuffix(g, "/") || strings.IndexByte(`/#?"' )`, text[len(g)]) >= 0) {
			return len(g) + lengthOf(text[len(g):])
		}
	}
	return 0
}

// lengthOf is how long what follows in an address may be.
func lengthOf(rest string) int {
	if n := strings.IndexAny(rest, `"' ,)]}<>`); n >= 0 {
		return n
	}
	return len(rest)
}

// hostOf is the host of what follows a scheme, with the owner where anybody may
// put something.
func hostOf(rest string) string {
	rest = strings.TrimLeft(strings.ReplaceAll(strings.ToLower(rest), `\`, "/"), "/")
	host, way, _ := strings.Cut(rest, "/")
	if cut := strings.IndexAny(host, "?#"); cut >= 0 {
		host = host[:cut]
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	if !slices.Contains(public, host) {
		return host
	}
	way = strings.TrimPrefix(way, "repos/")
	owner, _, _ := strings.Cut(way, "/")
	return host + "/" + owner
}

// downloads adds where the addresses of a text lead: that they do counts, not
// how often.
func (f found) downloads(text string, good []string) {
	addresses(text, good, func(where string) {
		name := "downloads from " + shorten(where) + " at installation"
		if _, ok := f[name]; !ok {
			f.add(name, "")
		}
	})
}

// maxLock is how large a side of a lockfile may be, in bytes.
const maxLock = 4 << 20

// Where each ecosystem downloads from every day.
var (
	npmGood      = strings.Fields(`registry.npmjs.org registry.yarnpkg.com npm.jsr.io`)
	denoGood     = strings.Fields(`registry.npmjs.org jsr.io deno.land`)
	pythonGood   = strings.Fields(`pypi.org files.pythonhosted.org`)
	condaGood    = append(strings.Fields(`conda.anaconda.org/conda-forge conda.anaconda.org/bioconda repo.anaconda.com`), pythonGood...)
	cargoGood    = strings.Fields(`registry+https://github.com/rust-lang/crates.io-index sparse+https://index.crates.io index.crates.io static.crates.io`)
	rubyGood     = strings.Fields(`rubygems.org index.rubygems.org`)
	composerGood = strings.Fields(`packagist.org repo.packagist.org github.com api.github.com`)
	podGood      = strings.Fields(`cdn.cocoapods.org trunk.cocoapods.org github.com/CocoaPods/Specs.git`)
	dartGood     = strings.Fields(`pub.dev pub.dartlang.org`)
	nixGood      = strings.Fields(`flakehub.com channels.nixos.org`)
)

// named are tables whose keys are names of packages, which may be any word.
var named = strings.Fields(`dependencies devDependencies optionalDependencies peerDependencies packages snapshots requires importers`)

// lockOf are the addresses of a lockfile that are not good ones, without those
// that people are sent to.
func lockOf(read reader, good []string, prose ...string) func(string) found {
	return func(src string) found {
		return read.parts(src, func(out found) visit {
			var last []string
			return func(keys []string, value string) {
				for i, k := range keys {
					if i > 0 && slices.Contains(prose, k) && !slices.Contains(named, keys[i-1]) {
						return
					}
				}
				for i, k := range keys {
					if i >= len(last) || last[i] != k {
						out.downloads(k, good)
						last = append(last[:i], k)
					}
				}
				out.downloads(value, good)
				if n := len(keys); n > 0 && keys[n-1] == "version" || strings.Contains(value, "#") {
					out.shorthand(value)
				}
			}
		})
	}
}

// shorthand adds a package that is named by its owner and repository alone.
func (f found) shorthand(value string) {
	owner, name, ok := strings.Cut(value, "/")
	name, _, _ = strings.Cut(name, "#")
	if ok && owner != "" && !strings.ContainsAny(owner+name, "@:/ .\\") {
		f.downloads("github:"+value, nil)
	}
}

var (
	npmLock      = lockOf(readJSON, npmGood, "deprecated", "funding", "license", "homepage", "bugs", "author", "description")
	composerLock = lockOf(readJSON, composerGood, "support", "funding", "homepage", "authors", "description", "license", "suggest", "keywords", "thanks")
	poetryLock   = lockOf(readTOML, pythonGood, "description")
	pnpmLock     = lockOf(readYAML, npmGood, "deprecated")
)

// lockText are the addresses of a lockfile of lines. A colon at the end of one
// is the form's.
func lockText(good []string) func(string) found {
	return func(src string) found {
		out := found{}
		for line := range strings.FieldsFuncSeq(src, func(r rune) bool { return r == '\n' || r == '\r' }) {
			switch line = strings.TrimSpace(line); {
			case strings.Contains(line, `\`):
				out.add(unreadable, line)
			default:
				out.downloads(strings.TrimSuffix(strings.TrimSuffix(line, ":"), `"`), good)
			}
		}
		return out
	}
}
