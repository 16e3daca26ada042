package sandbox

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// fetch asks for a URL as the environment says, and prints the answer.
func fetch(url string) error {
	c := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the server is a test's
	}}
	res, err := c.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	fmt.Printf("%s\n", b)
	return err
}

// TestHosts reaches what was named from inside either form, and nothing else.
func TestHosts(t *testing.T) {
	w := newWorld(t)
	eachForm(t, func(t *testing.T, shared *Runner) {
		r := *shared
		r.machine.world = w.attach
		ws := newWorkspace(t)
		ws.spec.Hosts = []string{"proxy.golang.example"}
		ask := func(want int, says string, argv ...string) {
			t.Helper()
			ws.spec.Argv = append([]string{attackerAt, attackerArg}, argv...)
			res := run(t, &r, ws.spec)
			if res.ExitCode != want || !strings.Contains(string(res.Output), says) {
				t.Errorf("%v: %d %s", argv, res.ExitCode, res.Output)
			}
		}
		const through, stopped = 1, 0
		ask(through, "hello from proxy.golang.example/mod", "fetch", "https://proxy.golang.example/mod")
		ask(stopped, "Forbidden", "fetch", "https://evil.example.org/")
		ask(stopped, "Forbidden", "fetch", "https://proxy.golang.example/away") // follows the redirect itself
		ask(through, "only https", "fetch", "http://proxy.golang.example/")     // an answer, the proxy's
		ask(stopped, "unreachable", "dial", "tcp", "93.184.216.34:443")
		ws.spec.Hosts = nil
		ask(stopped, "stopped", "fetch", "https://proxy.golang.example/mod")
		ask(stopped, "refused", "dial", "tcp", proxyAddr)
	})
}

// TestHostsEnds ends a connection that is open with its command.
func TestHostsEnds(t *testing.T) {
	w := newWorld(t)
	r := warm(t)
	r.machine.world = w.attach
	ws := newWorkspace(t)
	ws.spec.Hosts = []string{"proxy.golang.example"}
	for range 3 {
		ws.spec.Argv = []string{attackerAt, attackerArg, "hang on the proxy"}
		res, err := r.Run(testContext(), ws.spec)
		if err != nil || res.Cause != CauseExited {
			t.Fatalf("%v %s %s", err, res.Cause, res.Output)
		}
	}
	if n := len(r.waiting()); n != 1 {
		t.Errorf("%d wait", n)
	}
}
