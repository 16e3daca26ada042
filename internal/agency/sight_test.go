package agency

import "testing"

func TestSight(t *testing.T) {
	s := Sight{Homes: []string{"/home/u"}, Own: []string{"/data/agency"}, Repo: "/home/u/.config/nvim"}
	for _, tt := range []struct {
		path                 string
		user, tools, written bool // may be shown
	}{
		{"/", false, false, false},
		{"/home", false, false, false},
		{"/home/u", false, false, false},
		{"/home/other", false, false, false},
		{"/home/other/.ssh", false, false, false},
		{"/root", false, false, false},
		{"/home/u/.ssh", false, false, false},
		{"/home/u/.ssh/id", false, false, false},
		{"/home/u/.config", false, false, false},
		{"/home/u/.config/gh/x", false, false, false},
		{"/home/u/.config/other", true, false, false},
		{"/home/u/.config/nvim", true, false, false},
		{"/home/u/.config/nvim/node_modules", true, false, false},
		{"/home/u/.config/nvim/.git/x", true, false, false},
		{"/home/u/.cargo", false, false, false},
		{"/home/u/.cargo/registry", true, true, true},
		{"/home/u/.cargo/credentials.toml", false, false, false},
		{"/home/u/.local", false, false, false},
		{"/home/u/.local/lib/python3.12/x", true, true, true},
		{"/home/u/.pyenv/versions/3.12", true, true, true},
		{"/home/u/.pyenv", true, false, false},
		{"/home/u/lib", true, true, false},
		{"/data", false, false, false},
		{"/data/agency/runs", false, false, false},
		{"/data/agencyx", true, true, false},
		{"/etc", false, false, false},
		{"/etc/shadow", false, false, false},
		{"/etc/java-17-openjdk", true, true, true},
		{"/etc/other", true, false, false},
		{"/var", false, false, false},
		{"/var/run/x", false, false, false},
		{"/var/lib/other", true, false, false},
		{"/proc/1", false, false, false},
		{"/run/user/1000", false, false, false},
		{"/opt", true, true, false},
		{"/opt/node", true, true, true},
		{"/tmp", false, false, false},
		{"/tmp/x", true, true, false},
	} {
		for by, want := range map[Naming]bool{NamedByUser: tt.user, NamedByTools: tt.tools, NamedByRepository: tt.written} {
			if why := s.Refuses(tt.path, by); (why == "") != want {
				t.Errorf("%s by %d: %q", tt.path, by, why)
			}
		}
	}
	if s.Refuses("/home/u/.config/nvim/node_modules", NamedAsInstalled) != "" || s.Refuses("/home/u/.config/nvim/.git", NamedAsInstalled) == "" {
		t.Error("what is installed in the checkout is not shown, or git's own is")
	}
	// A home that is a repository hides all the same what is no toolchain's.
	s = Sight{Homes: []string{"/home/u"}, Repo: "/home/u"}
	if s.Refuses("/home/u/.hidden", NamedByTools) == "" || s.Refuses("/home/u/.ssh/x", NamedByUser) == "" || s.Refuses("/home/u/.cargo/registry", NamedByTools) != "" {
		t.Error("a repository opens the home that it is, or hides its toolchains")
	}
}
