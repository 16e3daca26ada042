package sandbox

// proxyHost and proxyPort are where a command finds the proxy, in its own
// network namespace.
const (
	proxyHost = "127.0.0.1"
	proxyPort = 18443
)

// JavaProxy is what a virtual machine of Java is told of the proxy: it does not
// read the variables that others do.
const JavaProxy = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=18443"
