package config

import "slices"

// toolVariables name toolchains and caches. No variable that can hold a key is
// in the list: it is stored with the run.
var toolVariables = [...]string{
	"PATH", "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOENV", "GOFLAGS",
	"GOTOOLCHAIN", "GOEXPERIMENT", "GOPRIVATE", "GOAMD64", "GOARM64", "GO111MODULE", "GOWORK", "CGO_ENABLED", "CC", "CXX",
	"VIRTUAL_ENV", "PYENV_ROOT", "PYENV_VERSION", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "UV_CACHE_DIR",
	"NVM_DIR", "VOLTA_HOME", "FNM_DIR", "COREPACK_HOME", "npm_config_cache",
	"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "SDKMAN_DIR", "GRADLE_USER_HOME",
}

// ToolEnv is what toolchains need of an environment.
func ToolEnv(env Env) map[string]string {
	out := map[string]string{}
	for _, name := range toolVariables {
		if v, ok := env(name); ok {
			out[name] = v
		}
	}
	return out
}

// IsToolVariable tells whether toolchains are found by a variable.
func IsToolVariable(name string) bool { return slices.Contains(toolVariables[:], name) }
