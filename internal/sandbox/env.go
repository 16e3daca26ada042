package sandbox

import "strings"

// home is the command's empty home folder.
const home = "/tmp/home"

// systemPath is where programs are looked for unless a toolchain says more.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment builds a command's environment from nothing: what every program
// expects, then layer by layer; the later wins.
func environment(homeDir, tmp string, layers ...[]string) []string {
	env := []string{
		"PATH=" + systemPath, "HOME=" + homeDir, "TMPDIR=" + tmp, "LANG=C.UTF-8",
		"USER=agency", "LOGNAME=agency", "SHELL=/bin/sh", "TERM=dumb",
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
