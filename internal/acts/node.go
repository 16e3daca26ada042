package acts

import (
	"slices"
	"strings"

	"agency/internal/regexp"
)

// jsonParts are wanted values of a document, each under what it does. A key is
// of the document, or of an object in it behind a dot.
func jsonParts(read reader, wanted map[string]string) func(string) found {
	return func(src string) found {
		return read.parts(src, func(out found) visit {
			return func(keys []string, value string) {
				whole, ok := joined(keys)
				if !ok {
					out.add(unreadable, value)
					return
				}
				for n := 1; n <= min(2, len(keys)); n++ {
					key := strings.Join(keys[:n], ".")
					if does := wanted[key]; does != "" && value != "null" {
						out.add(does+": "+key, whole+"="+value)
					}
				}
			}
		})
	}
}

const (
	npmRuns = "runs at `npm install`"
	npmFrom = "says from where packages of node come"
	lets    = "lets packages run scripts at installation"
	hooks   = "runs as a hook of git"
)

// npmWanted are the keys of a package.json that act. Its other scripts run when
// they are named.
func npmWanted() map[string]string {
	const picks, links = "picks the package manager that is downloaded", "is put among the programs by an installation"
	wanted := map[string]string{
		"bin": links, "directories.bin": links, "packageManager": picks, "devEngines": picks, "volta": "picks the node that is used in the folder",
		"trustedDependencies": lets, "dependenciesMeta": lets, "allowScripts": lets, "lavamoat": lets, "pnpm.onlyBuiltDependencies": lets,
		"pnpm.onlyBuiltDependenciesFile": lets, "pnpm.neverBuiltDependencies": lets, "pnpm.ignoredBuiltDependencies": lets, "pnpm.allowBuilds": lets,
		"pnpm.dangerouslyAllowAllBuilds": lets, "pnpm.configDependencies": npmRuns, "pnpm.patchedDependencies": "changes packages at installation",
		"patchedDependencies": "changes packages at installation", "pnpm.executionEnv": "picks the node that is downloaded", "gypfile": npmRuns,
	}
	for _, key := range strings.Fields(`husky simple-git-hooks gitHooks git-hooks githooks ghooks pre-git simple-pre-commit lint-staged nano-staged
		pre-commit pre-push pre-merge-commit commit-msg prepare-commit-msg post-commit post-checkout post-merge config.ghooks config.pre-git
		config.husky scripts.precommit scripts.prepush scripts.commitmsg scripts.postcheckout scripts.postmerge`) {
		wanted[key] = hooks
	}
	for _, s := range strings.Fields("preinstall install postinstall prepublish preprepare prepare postprepare prepack dependencies pnpm:devPreinstall") {
		wanted["scripts."+s] = npmRuns
	}
	return wanted
}

// npmSources are the tables of a package.json whose values may say where a
// package is.
var npmSources = strings.Fields(`dependencies devDependencies optionalDependencies peerDependencies bundleDependencies overrides resolutions catalog catalogs workspaces`)

var npmKeys = jsonParts(readJSON, npmWanted())

// npmPackage are the parts of a package.json that act, and the packages that come
// from elsewhere.
func npmPackage(src string) found {
	out := npmKeys(src)
	if out[unreadable] != ([32]byte{}) {
		return out
	}
	_ = readJSON(src, func(keys []string, value string) { // was read above
		if len(keys) > 1 && (slices.Contains(npmSources, keys[0]) || keys[0] == "pnpm" && keys[1] == "overrides") {
			out.downloads(value, npmGood)
			out.shorthand(value)
		}
	})
	return out
}

// keeps are beginnings of parts whose removal takes a check away.
func keeps(part string) bool {
	return strings.HasPrefix(part, hooks) || strings.HasSuffix(part, ": scripts.prepare")
}

var composerRules = []keyRule{
	ruleOf("runs at `composer install`", "scripts.", `scripts\.(?:(?:pre|post)-[\w-]+|init|command)\b.*`, nil),
	ruleOf("lets packages run at installation", "allow-plugins", `config\.allow-plugins\b.*`, nil),
	ruleOf("says from where packages come", "repositories", `repositories\b.*`, nil),
	ruleOf("says from where packages come", "config.", `config\.(?:secure-http|disable-tls|cafile|capath|github-protocols|vendor-dir|bin-dir)\b.*`, nil),
	ruleOf(hooks, "extra.", `extra\.(?:hooks|captainhook|grumphp|composer-git-hooks)\b.*`, nil),
	ruleOf("changes packages at installation", "extra.", `extra\.(?:patches|patches-file|enable-patching)\b.*`, nil),
}

func ruled(read reader, rules []keyRule, sources *regexp.Regexp, good []string) func(string) found {
	look := rulesOf(rules, sources, good)
	return func(src string) found { return read.parts(src, look) }
}

var (
	composerPackage = ruled(readJSON, composerRules, nil, nil)
	dub             = ruled(readJSON, []keyRule{ruleOf("runs at `dub build`", "Commands", `(?:.*\.)?(?:pre|post)\w+Commands\b.*`, nil)}, nil, nil)
	rush            = jsonParts(readJSONC, map[string]string{"eventHooks": "runs at `rush install`"})
	appJSON         = jsonParts(readJSON, map[string]string{"scripts": "runs where the branch is deployed", "buildpacks": "runs where the branch is deployed"})
	globalJSON      = jsonParts(readJSONC, map[string]string{"sdk.paths": "picks the .NET of the folder", "msbuild-sdks": "runs at each build with .NET"})
	podspecJSON     = jsonParts(readJSON, map[string]string{"prepare_command": podRuns, "script_phases": podRuns, "script_phase": podRuns, "source": "says from where a pod comes"})
	vcpkg           = jsonParts(readJSON, map[string]string{"vcpkg-configuration": "says from where packages of C++ come"})
	shardYML        = ruled(readYAML, []keyRule{ruleOf("runs at `shards install`", "scripts.", `scripts\..*`, nil)}, nil, nil)
	deno            = ruled(readJSONC, []keyRule{ruleOf(lets, "allowScripts", `allowScripts\b.*`, nil)}, regexp.MustCompile(`^(?:imports|scopes|importMap|links|patch)\b`), denoGood)
	pubspec         = ruled(readYAML, nil, regexp.MustCompile(`^(?:dependencies|dev_dependencies|dependency_overrides)\.`), dartGood)
)

const podRuns = "runs at `pod install`"

// workspaceKeys are the settings of a pnpm-workspace.yaml that run nothing and
// say nothing of where packages come from. pnpm grows new ones with each version.
var workspaceKeys = strings.Fields(`packages catalog catalogs catalogMode cleanupUnusedCatalogs overrides peerDependencyRules packageExtensions ignoredOptionalDependencies
	allowedDeprecatedVersions allowUnusedPatches linkWorkspacePackages preferWorkspacePackages injectWorkspacePackages saveWorkspaceProtocol sharedWorkspaceLockfile
	includeWorkspaceRoot hoist hoistWorkspacePackages hoistPattern publicHoistPattern shamefullyHoist nodeLinker autoInstallPeers strictPeerDependencies
	dedupePeerDependents dedupeDirectDeps dedupeInjectedDeps resolvePeersFromWorkspaceRoot resolutionMode savePrefix saveExact engineStrict updateConfig
	disallowWorkspaceCycles ignoreWorkspaceCycles minimumReleaseAge
	supportedArchitectures preferFrozenLockfile gitChecks failIfNoMatch workspaceConcurrency childConcurrency peersSuffixMaxLength`)

// pnpmWorkspace are all other settings, and packages from elsewhere.
func pnpmWorkspace(src string) found {
	return reader(readYAML).parts(src, func(out found) visit {
		return func(keys []string, value string) {
			key, ok := joined(keys)
			switch {
			case len(keys) == 0 || !ok:
				out.add(unreadable, value)
			case !slices.Contains(workspaceKeys, keys[0]):
				out.add("configures what runs at `pnpm install`: "+shorten(keys[0]), key+"="+value)
			case keys[0] != "packages":
				out.downloads(value, npmGood)
			}
		}
	})
}

// conda are the places from where an environment.yml gets its packages.
func conda(src string) found {
	return reader(readYAML).parts(src, func(out found) visit {
		return func(keys []string, value string) {
			switch {
			case len(keys) == 2 && keys[0] == "channels" && !isChannel("", value):
				out.add(pipFrom+": "+shorten(value), value)
			case len(keys) > 3 && keys[0] == "dependencies" && keys[2] == "pip":
				out.requirement("environment.yml", value)
			case len(keys) == 2 && keys[0] == "dependencies" && strings.Contains(value, "::") && !isChannel("", value[:strings.Index(value, "::")]):
				out.add(pipFrom+": "+shorten(value), value)
			}
		}
	})
}
