package mount

import (
	"strings"
	"testing"
)

func TestInnerMounts(t *testing.T) {
	all := []Mounted{{"/", "ext4"}, {"/data", "ext4"}, {"/data/x", "tmpfs"}, {"/data/x/y", "proc"}, {"/usr/local", "ext4"}, {"/usr/p", "proc"}, {"/datax", "proc"}}
	if got := strings.Join(Below(all, "/data", false), " "); got != "x" {
		t.Error(got)
	}
	if got := strings.Join(Below(all, "/usr", true), " "); got != "p" {
		t.Error(got)
	}
	if got := unescaped(`/a\040b\134c`); got != `/a b\c` {
		t.Error(got)
	}
}
