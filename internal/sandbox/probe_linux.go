package sandbox

import "context"

const probeArg = "agency-sandbox-probe"

func runAttempts() int { return 0 }

func probe(context.Context) Report { return Report{} }
