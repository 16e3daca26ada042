package sandbox

import "context"

const plainPossible = false

const noSandboxMend = "run inside WSL2: wsl --install, then start agency from its shell"

func runPlain(context.Context, Spec) (Result, error) {
	return Result{}, errNoSandbox()
}
