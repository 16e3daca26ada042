package sandbox

import "testing"

func TestSmoke(t *testing.T) {
	res := shell(t, "id; pwd; ls -la / /dev /tmp /etc .; env; cat /proc/self/status | egrep 'Cap|NoNew|Seccomp|Uid'; cat /proc/self/mountinfo; ls -l /proc/self/fd; ps ax; touch x; git init -q /tmp/q && ls /tmp/q")
	t.Logf("%s %d %v %v %d\n%s", res.Cause, res.ExitCode, res.Duration, res.CPU, res.MaxRSSKB, res.Output)
}

func BenchmarkFull(b *testing.B) {
	r := full(b, Options{})
	w := newWorkspace(b, "/bin/true")
	for b.Loop() {
		if res := run(b, r, w.spec); res.ExitCode != 0 {
			b.Fatal(res)
		}
	}
}
