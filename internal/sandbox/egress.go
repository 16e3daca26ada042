package sandbox

import (
	"strconv"
	"strings"

	"agency/internal/supervisor"
)

// proxyHost is where a command finds the proxy, in its own network namespace at
// supervisor.ProxyPort; in the landlock tier the port is another for each command.
const proxyHost = "127.0.0.1"

// JavaProxy is what a virtual machine of Java is told of the proxy: it does not
// read the variables that others do.
const JavaProxy = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=18443"

// javaProxyAt says in variables for Java that the proxy has another port.
func javaProxyAt(env []string, port int) []string {
	out := make([]string, len(env))
	for i, kv := range env {
		out[i] = strings.ReplaceAll(kv, JavaProxy, strings.Replace(JavaProxy, strconv.Itoa(supervisor.ProxyPort), strconv.Itoa(port), 1))
	}
	return out
}
