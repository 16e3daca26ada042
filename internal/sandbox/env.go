package sandbox

import "strings"

// systemPath is where programs are looked for unless a toolchain says more.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment builds a command's environment from nothing: what every program
// expects, then layer by layer; the later wins.
func environment(homeDir, tmp string, layers ...[]string) []string {
	env := []string{
		"PATH=" + systemPath, "HOME=" + homeDir, "TMPDIR=" + tmp, "LANG=C.UTF-8",
		"USER=agency", "LOGNAME=agency", "SHELL=/bin/sh", "TERM=dumb",
		"GIT_CONFIG_NOSYSTEM=1", // the machine's is not shown, and git ends where it is there and cannot be read
	}
	for _, l := range layers {
		for _, kv := range l {
			env = setEnv(env, kv)
		}
	}
	return env
}

func setEnv(env []string, kv string) []string {
	name, _, ok := strings.Cut(kv, "=")
	if !ok || name == "" || strings.ContainsRune(kv, 0) {
		return env
	}
	for i, e := range env {
		if strings.HasPrefix(e, name+"=") {
			env[i] = kv
			return env
		}
	}
	return append(env, kv)
}

func getEnv(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// Where nothing is mounted, a path that holds inside of the full tier alone is
// made the host's: that of the checkout, of a cache of a command's own, of what is
// shown elsewhere.

// Relocate makes a text that names the checkout where it appears (At) name it where
// it lies (Root). A path that only begins alike is left alone.
func (p Place) Relocate(text string) string { return relocate(text, map[string]string{p.At: p.Root}) }

// onHost is where the paths of a command's variables lie where nothing is mounted;
// caches are those that stand in for overlays.
func onHost(s Spec, caches map[string]string) map[string]string {
	to := map[string]string{s.Place.At: s.Place.Root}
	for _, ms := range [][]Mount{s.Tools.ReadOnly, s.Reads} {
		for _, m := range ms {
			to[m.At] = m.Host
		}
	}
	for _, o := range s.Tools.Overlays {
		to[o.At] = o.Lower
	}
	for at, own := range caches {
		to[at] = own
	}
	return to
}

// moved are variables by where the paths in them lie.
func moved(env []string, to map[string]string) []string {
	out := make([]string, len(env))
	for i, kv := range env {
		out[i] = kv
		if name, value, ok := strings.Cut(kv, "="); ok {
			out[i] = name + "=" + relocate(value, to)
		}
	}
	return out
}

// relocate replaces each path of a text that is one of to, or lies in one: by the
// innermost, and once.
func relocate(text string, to map[string]string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '/' || i > 0 && inPath(text[i-1]) {
			continue
		}
		found := ""
		for at := range to {
			if rest, ok := strings.CutPrefix(text[i:], at); ok && len(at) > len(found) && (rest == "" || rest[0] == '/' || !inPath(rest[0])) {
				found = at
			}
		}
		if found == "" {
			continue
		}
		b.WriteString(text[done:i])
		b.WriteString(to[found])
		i += len(found) - 1
		done = i + 1
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}

// inPath tells whether a character is part of a path's name rather than what stands
// before or after one.
func inPath(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80 || strings.IndexByte("/._-+@%~", c) >= 0
}
