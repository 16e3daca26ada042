package agency

import (
	"path"
	"slices"
	"strings"
)

// Naming is who said that commands need a folder of this machine.
type Naming int

// Who names folders.
const (
	// NamedByUser: a person, in sandbox.read. They may name more than others, and
	// never what must stay hidden.
	NamedByUser Naming = iota
	// NamedByTools: the toolchains that the user's own environment leads to.
	NamedByTools
	// NamedByRepository: a file or link of the checkout, which anybody may have
	// written.
	NamedByRepository
	// NamedAsInstalled: what is installed in the user's checkout, ignored by git and
	// shown at its own place where a run's checkout has nothing.
	NamedAsInstalled
)

// InCheckout is why what lies in the user's checkout is not shown: it would be seen
// in the place of what a run made of it.
const InCheckout = "lies in the checkout, which commands see as the run has it"

// Sight decides which folders of this machine commands may see. It is pure:
// paths are absolute, clean, with slashes, and followed through all links by who
// asks, so that a name stands for what it leads to.
type Sight struct {
	Homes []string // of the user, as named and as resolved
	Own   []string // the program's own folders: state, sockets, configuration
	Repo  string   // the user's checkout; "" for none
}

// Refuses says why a folder or file may not be shown; "" where it may. What
// holds something hidden is as hidden as what lies in it.
func (s Sight) Refuses(p string, by Naming) string {
	if why := s.never(p); why != "" {
		return why
	}
	if s.Repo != "" && by != NamedByUser && holds(p, s.Repo) {
		return "holds the repository itself"
	}
	if by != NamedByUser && s.inCheckout(p) {
		rel := strings.TrimPrefix(p, s.Repo+"/")
		switch {
		case by != NamedAsInstalled:
			return InCheckout
		case rel == ".git" || strings.HasPrefix(rel, ".git/"):
			return "is git's own"
		}
		return ""
	}
	if by == NamedByUser {
		return ""
	}
	if home, rel := s.homeOf(p); home != "" {
		switch {
		case matches(toolFolders, rel):
			return ""
		case strings.HasPrefix(rel, "."):
			return "is a hidden folder of the home and of no toolchain that is known"
		case by == NamedByRepository || by == NamedAsInstalled:
			return "is named by the repository and of no toolchain that is known"
		}
		return ""
	}
	rel := strings.TrimPrefix(p, "/")
	switch {
	case matches(systemTools, rel):
		return ""
	case matches([]string{"etc", "var", "srv", "mnt", "media"}, rel):
		return "is of the system and of no toolchain that is known"
	case by == NamedByRepository:
		return "is named by the repository and of no toolchain that is known"
	}
	return ""
}

// inCheckout tells of a path of the user's checkout. A home that is one has its
// toolchains in it all the same.
func (s Sight) inCheckout(p string) bool {
	if s.Repo == "" || !holds(s.Repo, p) {
		return false
	}
	home, _ := s.homeOf(s.Repo)
	return home != s.Repo
}

// never is why nobody may have a folder shown.
func (s Sight) never(p string) string {
	if p == "/" {
		return "is the whole file system"
	}
	for _, own := range s.Own {
		if holds(own, p) || holds(p, own) {
			return "is, holds or lies in this program's own folder " + own
		}
	}
	if p == "/tmp" || p == "/var/tmp" {
		return "holds everybody's temporary files"
	}
	if rel := strings.TrimPrefix(p, "/"); touches(hostKeys, rel) {
		return "is, holds or lies in what the system keeps to itself"
	}
	for _, h := range append(slices.Clone(s.Homes), "/home", "/root", "/Users") {
		if h != "/" && holds(p, h) {
			return "holds the home folder"
		}
	}
	home, rel := s.homeOf(p)
	if home == "" {
		return ""
	}
	if rel == "" {
		return "is a home folder"
	}
	if touches(homeKeys, rel) {
		return "is, holds or lies in what keys, tokens or private data are kept in"
	}
	return ""
}

// homeOf is the home that a path is or lies in, of whichever user, and the rest
// of the path.
func (s Sight) homeOf(p string) (home, rel string) {
	for _, h := range s.Homes {
		if holds(h, p) && len(h) > len(home) && h != "/" {
			home = h
		}
	}
	parts := strings.SplitN(p, "/", 4) // "", "home", "user", the rest
	switch {
	case home != "":
	case len(parts) > 2 && (parts[1] == "home" || parts[1] == "Users"):
		home = "/" + parts[1] + "/" + parts[2]
	case parts[1] == "root":
		home = "/root"
	default:
		return "", ""
	}
	return home, strings.TrimPrefix(strings.TrimPrefix(p, home), "/")
}

// holds tells whether a path is a folder or lies in it.
func holds(dir, p string) bool {
	return dir == "/" || p == dir || strings.HasPrefix(p, dir+"/")
}

// matches tells whether a path is, or lies in, what one of the patterns names.
func matches(patterns []string, rel string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		n, m := along(pattern, rel)
		return n == m
	})
}

// touches tells the same, and whether the path holds what a pattern names.
func touches(patterns []string, rel string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		n, m := along(pattern, rel)
		return n == m || n == len(strings.Split(rel, "/"))
	})
}

// along compares a pattern with a path element by element: how many of the
// pattern's first fit, and how many it has.
func along(pattern, rel string) (fit, all int) {
	want, have := strings.Split(pattern, "/"), strings.Split(rel, "/")
	for fit < len(want) && fit < len(have) {
		if ok, err := path.Match(want[fit], have[fit]); !ok || err != nil {
			break
		}
		fit++
	}
	return fit, len(want)
}

// toolFolders are the folders of a home, hidden ones above all, that hold
// programs and packages and nothing that is the user's own.
var toolFolders = []string{
	".cargo/bin", ".cargo/registry", ".cargo/git", ".cargo/config.toml", ".rustup/toolchains",
	".npm/_cacache", ".npm-global/lib/node_modules", ".npm-packages/lib/node_modules", ".local/lib/node_modules", ".nvm/versions", ".volta/bin", ".volta/tools", ".fnm/node-versions", ".local/share/fnm/node-versions", ".nodenv/versions", ".n/n/versions",
	".cache/node/corepack", ".local/share/pnpm", ".local/share/node", ".yarn/bin", ".yarn/cache", ".yarn/berry/cache", ".bun/bin", ".bun/install", ".deno/bin",
	".pyenv/versions", ".pyenv/shims", ".pyenv/libexec", ".cache/uv", ".cache/pip", ".cache/pypoetry", ".local/share/uv", ".local/share/pypoetry",
	".local/share/virtualenvs", ".virtualenvs", ".rye/py", ".rye/shims", ".local/lib/python*", ".local/bin", ".local/pipx", ".local/share/pipx",
	".conda/envs", ".conda/pkgs", "miniconda3", "anaconda3", "miniforge3", "mambaforge",
	".asdf/installs", ".asdf/shims", ".local/share/mise/installs", ".local/share/mise/shims", ".local/share/rtx/installs",
	".sdkman/candidates", ".jdks", ".jenv/versions", ".m2/repository", ".m2/wrapper", ".gradle/caches", ".gradle/wrapper", ".gradle/jdks",
	".cache/go-build", ".gvm/gos", ".goenv/versions", ".g/versions", "go/pkg/mod", "sdk/go*",
	".linuxbrew/Cellar", ".linuxbrew/bin", ".linuxbrew/lib", ".linuxbrew/opt", ".nix-profile",
	".rbenv/versions", ".rvm/rubies", ".gem/ruby", ".local/share/gem", ".bundle/cache", ".cache/composer", ".hex/packages", ".mix/archives",
}

// systemTools are those outside of a home.
var systemTools = []string{"opt/?*", "nix/store", "gnu/store", "snap/?*", "usr", "etc/java-*", "etc/maven", "etc/m2.conf", "var/lib/snapd/snap/?*"}

// homeKeys are what of a home nobody is shown.
var homeKeys = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".password-store", ".pki", ".mozilla", ".thunderbird", ".vault-token", ".age", ".sops",
	".netrc", "_netrc", ".git-credentials", ".gitcookies", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".s3cfg", ".boto", ".dockercfg",
	".*_history", ".lesshst", ".viminfo", ".Xauthority", ".ICEauthority", ".dbus", ".bitcoin", ".ethereum", ".electrum",
	".cargo/credentials*", ".m2/settings*.xml", ".gradle/gradle.properties", ".gem/credentials", ".bundle/config", ".composer/auth.json", ".hex/hex.config",
	".terraformrc", ".terraform.d", ".pulumi", ".ansible/cp", ".huggingface", ".cache/huggingface/token", ".cache/keyring*", ".cache/mozilla", ".cache/google-chrome",
	".cache/chromium", ".claude", ".claude.json", ".codex", ".gemini", ".cursor", ".vscode-server",
	".config/agency", ".config/gh", ".config/glab-cli", ".config/hub", ".config/gcloud", ".config/git", ".config/op", ".config/rclone", ".config/containers", ".config/sops",
	".config/google-chrome*", ".config/chromium*", ".config/BraveSoftware", ".config/Code", ".config/Signal", ".config/Slack", ".config/doctl", ".config/heroku",
	".config/stripe", ".config/configstore", ".config/composer", ".config/pip", ".config/pypoetry", ".config/uv", ".config/age", ".config/github-copilot",
	".config/kwalletd*", ".config/Bitwarden*", ".config/1Password", ".config/systemd", ".config/autostart",
	".local/share/keyrings", ".local/share/kwalletd", ".local/share/containers", ".local/share/uv/credentials", ".local/share/TelegramDesktop", ".local/state/agency", ".cache/agency",
}

// hostKeys are what of the system nobody is shown: what the kernel and daemons
// tell, where they listen, and what guards the machine.
var hostKeys = []string{
	"proc", "sys", "dev", "run", "boot", "var/run", "var/lock", "var/spool", "var/log", "var/mail", "var/backups",
	"var/lib/docker", "var/lib/containers", "var/lib/containerd", "var/lib/kubelet", "var/lib/libvirt", "var/lib/sss", "var/lib/systemd", "var/lib/NetworkManager",
	"etc/shadow*", "etc/gshadow*", "etc/sudoers*", "etc/ssh", "etc/ssl/private", "etc/pki/tls/private", "etc/krb5.keytab", "etc/security", "etc/letsencrypt",
	"etc/wireguard", "etc/openvpn", "etc/ipsec*", "etc/NetworkManager", "etc/docker", "etc/kubernetes", "etc/machine-id", "etc/cups", "etc/ppp",
}
