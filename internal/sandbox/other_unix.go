//go:build unix && !linux

package sandbox

const plainPossible = true

const noSandboxMend = "run on Linux, or set sandbox.mode: off to run without a sandbox"
