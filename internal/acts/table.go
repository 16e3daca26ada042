package acts

// row is a class of files.
type row struct {
	// paths are patterns, separated by spaces and written small: of the last
	// segments of a path, or of all where it begins with a slash; one that ends
	// in a slash means all beneath. "=" before a pattern is of names as written.
	paths string
	does  string
	// parts are those by which such a file acts, each under what it does; nil:
	// all of it does. A part that is gone counts only where it is kept.
	parts func(src string) found
	// at are parts by the path and the text.
	at   func(p, src string) found
	most int64 // bytes of a side, where it is not maxSize
	// guards is set where taking the file or a part away matters, too: it takes
	// a check away.
	guards bool
	// runs is set where what the text names by its path is run as well.
	runs bool
}

// table is all classes. The first row that names a change says what it does.
var table = []row{
	{paths: ".git/ git~1/", does: "takes the place of git's own folder on some file systems"},
	{paths: ".hg/ .sl/ .jj/ .svn/ .bzr/ _darcs/ .fossil-settings/", does: "configures another system of versions, and what it runs"},
	{paths: ".hgsub .hgsubstate .arcconfig .arclint .reviewboardrc", does: "configures another system of versions, and what it runs"},

	// CI, where it counts that one is gone.
	{paths: `/.github/workflows/ /.forgejo/workflows/ /.gitea/workflows/ /.circleci/ /.buildkite/ /.semaphore/ /.teamcity/ /.tekton/
		/.woodpecker/ /.builds/ /.gitlab/ci/ /.azure-pipelines/ /.azuredevops/`, does: "runs in CI", guards: true},
	{paths: `*.gitlab-ci.yml *.gitlab-ci.yaml azure-pipelines*.yml azure-pipelines*.yaml jenkinsfile jenkinsfile.* *.jenkinsfile
		/.drone.yml /.drone.yaml /.drone.star /.drone.jsonnet /.woodpecker.yml /.woodpecker.yaml bitbucket-pipelines.yml /.travis.yml
		cloudbuild*.yaml cloudbuild*.yml cloudbuild*.json appveyor.yml .appveyor.yml /.cirrus.yml /.cirrus.star /wercker.yml
		codefresh.yml buildspec.yml buildspec.yaml /.build.yml ci_scripts/ci_*.sh /.taskcluster.yml /.zuul.yaml /zuul.yaml /.zuul.d/ /zuul.d/
		/circle.yml /codemagic.yaml bamboo-specs/ *.gocd.yaml *.gocd.yml *.gocd.json /.screwdriver.yml /.screwdriver.yaml /screwdriver.yaml /screwdriver.yml
		/.vela.yml /.vela.yaml /.onedev-buildspec.yml /.prow.yaml /.prow/ /.packit.yaml /.packit.yml /packit.yaml bitrise.yml bitrise.yaml
		/buddy.yml /.buddy/ codeship-*.yml codeship-*.yaml /.scrutinizer.yml /.lgtm.yml /lgtm.yml /.harness/ .azure-pipelines.yml .azure-pipelines.yaml
		/.ci.yaml /.ci.yml .evergreen.yml evergreen.yml /.evergreen/ /.kokoro/ .vsts-ci.yml .vsts-ci.yaml /.dagger/ /dagger.json /.earthly/ /.werft/ /.cds/
		/.shippable.yml /shippable.yml /.hound.yml /.nevercode.yml /.pipelines/ /.sourcehut/ /.copr/ /.obs/ /.xcode-cloud/ /.ado/ /.rultor.yml`, does: "runs in CI", guards: true},
	{paths: "/.github/settings.yml /.github/settings.yaml /.mergify.yml /.github/mergify.yml /.mergify/ /codeowners /docs/codeowners /.github/codeowners /.gitlab/codeowners", does: "says who may merge what", guards: true},
	{paths: `/renovate.json /renovate.json5 /.renovaterc /.renovaterc.json /.renovaterc.json5 /.github/renovate.json /.github/renovate.json5
		/.gitlab/renovate.json /.gitlab/renovate.json5 /.github/dependabot.yml /.github/dependabot.yaml /.github/probot.yml`, does: "configures a program that works on the repository"},
	{paths: "/.github/actions/ action.yml action.yaml", does: "runs as a step of CI", guards: true},
	{paths: `netlify.toml vercel.json vercel.ts now.json amplify.yml render.yaml .readthedocs.yml .readthedocs.yaml .cpanel.yml .deployment
		.ebextensions/ .platform/ .platform.app.yaml .upsun/ heroku.yml procfile procfile.* fly.toml railway.toml railway.json nixpacks.toml
		railpack.json appspec.yml appspec.yaml .htaccess .user.ini web.config wrangler.toml wrangler.json wrangler.jsonc .profile.d/ firebase.json
		.do/ captain-definition dockerrun.aws.json .buildpacks project.toml staticwebapp.config.json .clever/ clevercloud/ .s2i/ .scalingo/`, does: "runs where the branch is deployed"},
	{paths: "app.json", parts: appJSON},

	// Git: its hooks, what it fetches, and the programs that it runs on files.
	{paths: `.husky/ .githooks/ .git-hooks/ .git_hooks/ githooks/ git-hooks/ .huskyrc .huskyrc.* lefthook.* .lefthook.* lefthook-local.*
		.lefthook-local.* .lefthook/ .lefthook-local/ .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml
		.overcommit.yml .lintstagedrc .lintstagedrc.* lint-staged.config.* .simple-git-hooks.* simple-git-hooks.*
		captainhook.json grumphp.yml grumphp.yaml grumphp.yml.dist prek.toml hk.pkl hk.*.pkl .rusty-hook.toml .cargo-husky/ .nano-staged.* nano-staged.* .nano-staged
		.nanostagedrc .nanostagedrc.* .commitlintrc .commitlintrc.* commitlint.config.* .simple-pre-commit.json .simple-pre-commit.* .gitlint .pre-push-config.*
		.githooks.* githooks.json .git-hooks.* .ghooks .ghooks/ .pre-commit/ .prehook .whiskers.json .overcommit_gems.rb .lint-staged.* lintstaged.config.*`, does: "runs as a hook of git", guards: true, runs: true},
	{paths: ".gitmodules", parts: submodules},
	{paths: ".gitattributes", parts: drivers},
	{paths: ".lfsconfig", does: "says from where git LFS downloads"},

	// Shells and what changes its tools by the folder that one is in.
	{paths: ".envrc .envrc.* .direnv/ .autoenv* .autoenv/ .shadowenv.d/ .bash_enter .bash_leave .zsh_enter .zsh_leave .ondirrc .smartcd/ devenv.nix devenv.local.nix devenv.yaml .devenv.flake.nix devbox.json .env.leave", does: "runs where a shell enters the folder (direnv)", runs: true},
	{paths: ".tool-versions mise.toml mise.*.toml .mise.toml .mise.*.toml .mise/ mise/config.toml .config/mise.toml .config/mise/ .rtx.toml .prototools .sdkmanrc hermit.hcl /bin/hermit.hcl .pkgx.yml .pkgx.yaml pkgx.yml", does: "picks the programs that a shell uses in the folder (mise, asdf)"},
	{paths: ".env .env.* *.env .flaskenv", parts: environment},
	{paths: ".nvmrc .node-version .python-version .ruby-version .java-version .go-version .bun-version .deno-version .swift-version .php-version .perl-version .crystal-version .terraform-version", parts: versionFile},
	{paths: ".venv/ venv/ .virtualenv/", does: "is run by editors and shells as the python of the folder"},
	{paths: ".inputrc", does: "binds keys of a shell"},

	// Editors.
	{paths: `.vscode/ *.code-workspace .bsp/ buildserver.json .lite_project.lua .lite_project/ omnisharp.json .omnisharp/ .factorypath .kateproject .kateproject.*
		.luarc.json .luarc.jsonc .ccls .clangd .spyproject/ .neoconf.json .vimspector.json .vim/ .nvim/ .emacs.d/ .settings/ .solargraph.yml *.pro.user *.pro.user.*
		*.creator.user cmakelists.txt.user .idea/gradle.xml .idea/compiler.xml .idea/deployment.xml .idea/maven.xml .idea/jarrepositories.xml .idea/webservers.xml
		.idea/sshconfigs.xml .idea/datasources.xml .idea/php.xml .idea/misc.xml .idea/remote-mappings.xml .idea/jsLinters/ .idea/prettier.xml *.ipr *.iws
		.theia/ .vs/ .zed/ .lapce/ .kakrc .kakrc.local .nova/ .brackets.json .phan-ls/ .ensime .metals/ .ionide/ .dbeaver/ .sublime-commands .idea/runconfigurations/ .idea/workspace.xml .idea/externaltools.xml
		.idea/watchertasks.xml .idea/tools/ .idea/startup.xml .run/ .fleet/ *.sublime-project *.sublime-build *.sublime-workspace .helix/
		rust-analyzer.toml .externaltoolbuilders/`, does: "configures or runs in an editor that opens the folder"},
	{paths: `.vimrc _vimrc .gvimrc .exrc _exrc .nvimrc .nvim.lua .lazy.lua .lvimrc .dir-locals.el .dir-locals-2.el .ycm_extra_conf.py
		.ctags.d/ .ctags .local.vimrc _local.vimrc .vimrc.local .exrc.lua .nvim/init.lua .project.vim .projections.json .local.nvim.lua`, does: "runs in an editor that opens a file here"},
	{paths: ".devcontainer/ .devcontainer.json devcontainer.json .gitpod.yml .gitpod.dockerfile .replit replit.nix .idx/ .stackblitzrc .codesandbox/ .gitpod/ .coder/ .daytona/ .runme.yaml", does: "runs where the folder is opened in a container"},

	// Agents that write code: what they are told, and what they may run.
	{paths: `/agents.md /agents.override.md /agent.md /claude.md /claude.local.md /gemini.md /qwen.md /crush.md /warp.md =WARP.md .agents/skills/ =AGENTS.md
		=AGENTS.override.md =CLAUDE.md =CLAUDE.local.md =GEMINI.md =QWEN.md .cursorrules .windsurfrules .clinerules .clinerules/
		.roorules* .roomodes .goosehints .rules .github/copilot-instructions.md .github/instructions/ .github/prompts/
		.github/chatmodes/ .github/agents/ .github/skills/ .agents/ .agent/ .kilocode/ .kilocodemodes .kilocoderules .kilocoderules-*  .factory/
		.openhands/ .openhands_instructions .augment-guidelines .augment-rules .aiassistant/ .rovodev/ .qoder/ =CODEBUDDY.md =IFLOW.md /codebuddy.md /iflow.md
		.iflow/ .firebender/ firebender.json .qodo/ .devin/ /sweep.yaml /.sweep.yaml .warp/ .vibe/ .tabnine/ .goose/ .serena/ .pi/ .zencoder/ .ruler/
		.ai/ .amp/ /amp.md .cody/ .codegpt/ .void/ .llmrules .continuerules .clinerules-* .github/copilot/ .copilot/ .cline/ /replit.md .bolt/ .lovable/
		.codeium/ .sourcegraph/ .superdesign/ .bmad/ .bmad-core/ .crush/ .jules/ .droid/ .pearai/ .same/ .mentatconfig.json .mentat_config.json
	 .cursor/rules/ .windsurf/rules/ .claude/agents/ .claude/commands/ .claude/skills/`, does: "instructs agents that work in the folder"},
	{paths: ".agency/ /agency.yaml", does: "configures or instructs agents that work here"},
	{paths: "/agents/", at: agentFile},
	{paths: `.claude/ .mcp.json mcp.json .cursor/ .windsurf/ .roo/ .aider.conf.yml .aider* .continue/ .codex/ .gemini/ .qwen/
		.opencode/ opencode.json opencode.jsonc .opencode.json .opencode.jsonc conductor.json .conductor/ .codebuddy/ gptme.toml .mcp/ .mcpb mcp.jsonc .mcp.jsonc crush.json .crush.json .junie/ .kiro/ .amazonq/ .augment/ .trae/ .github/hooks/
		.claude-plugin/`, does: "configures agents that work in the folder, or what they run"},

	// Installation and building.
	{paths: "package.json", parts: npmPackage, guards: true},
	{paths: ".npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.mjs pnpmfile.js pnpmfile.cjs pnpmfile.mjs .pnpmrc .corepack.env .npmrc.* .yarn/plugins/ .yarn/releases/ .yarn/sdks/ .pnp.data.json .pnp.cjs .pnp.js .pnp.loader.mjs package.yaml package.json5 bunfig.toml .bunfig.toml .bowerrc .bun-preload.*", does: "configures or runs in the package manager of node"},
	{paths: "pnpm-workspace.yaml", parts: pnpmWorkspace},
	{paths: "binding.gyp", does: "is built at `npm install`"},
	{paths: "rush.json", parts: rush},
	{paths: "deno.json deno.jsonc", parts: deno},
	{paths: "composer.json", parts: composerPackage},
	{paths: "pip.conf pip.ini .pypirc uv.toml .condarc condarc .mambarc poetry.toml pdm.toml .pdm.toml .pdm-python .pydistutils.cfg pydistutils.cfg", does: "says from where python packages come"},
	{paths: requirementFiles, at: requirements},
	{paths: "pipfile", parts: pipfile},
	{paths: "hatch.toml", parts: hatch},
	{paths: "setup.cfg", parts: setupConfig},
	{paths: "pixi.toml", parts: pixi},
	{paths: "environment*.yml environment*.yaml conda*.yml conda*.yaml", parts: conda},
	{paths: "pyproject.toml", parts: pyproject},
	{paths: "setup.py", parts: setupProgram},
	{paths: "hatch_build.py hatch_metadata.py hatch_version.py pdm_build.py _custom_build.py", does: "runs at `pip install`"},
	{paths: "*.pth sitecustomize.* usercustomize.* sitecustomize/ usercustomize/ __pycache__/sitecustomize.*", does: "runs at each start of python"},
	{paths: "build.rs", does: cargoRuns},
	{paths: "cargo.toml", parts: cargoPackage},
	{paths: ".cargo/config .cargo/config.toml .cargo/credentials.toml .cargo/credentials", does: "configures cargo, and what it runs"},
	{paths: "rust-toolchain rust-toolchain.toml", parts: toolchainPath},
	{paths: "gradle-wrapper.jar gradle-wrapper.properties gradlew gradlew.bat gradle-daemon-jvm.properties", does: "runs at each build with Gradle"},
	{paths: "init.gradle init.gradle.kts", does: "runs at each build with Gradle"},
	{paths: "gradle.properties", parts: gradleProperties},
	{paths: ".mvn/ mvnw mvnw.cmd maven-wrapper.jar maven-wrapper.properties", does: "runs at each build with Maven"},
	{paths: ".sbtopts .jvmopts", does: "configures sbt and its Java"},
	{paths: ".bazelrc .bazelversion .bazeliskrc tools/bazel tools/bazel.bat tools/bazel.rc", does: "configures bazel, and what it runs"},
	{paths: "nuget.config msbuild.rsp directory.build.rsp", does: "configures the builds of .NET"},
	{paths: ".paket/ paket.dependencies", does: "configures the builds of .NET"},
	{paths: "global.json", parts: globalJSON},
	{paths: "project.pbxproj *.xcscheme", parts: xcode},
	{paths: "*.*proj *.*proj.user *.props *.targets *.tasks *.overridetasks *.projitems *.pubxml", parts: msbuild},
	{paths: "*.xcconfig", parts: xcconfig},
	{paths: ".xcode.env .xcode.env.local", does: "runs at each build with Xcode"},
	{paths: "package-lock.json npm-shrinkwrap.json", parts: npmLock, most: maxLock},
	{paths: "composer.lock", parts: composerLock, most: maxLock},
	{paths: "pnpm-lock.yaml", parts: pnpmLock, most: maxLock},
	{paths: "bun.lock", parts: lockOf(readJSONC, npmGood), most: maxLock},
	{paths: "yarn.lock bun.lockb", parts: lockText(npmGood), most: maxLock},
	{paths: "deno.lock", parts: lockOf(readJSON, denoGood), most: maxLock},
	{paths: "poetry.lock", parts: poetryLock, most: maxLock},
	{paths: "uv.lock pdm.lock pylock.toml pylock.*.toml", parts: lockOf(readTOML, pythonGood), most: maxLock},
	{paths: "pipfile.lock", parts: lockOf(readJSON, pythonGood), most: maxLock},
	{paths: "pixi.lock conda-lock.yml", parts: lockOf(readYAML, condaGood), most: maxLock},
	{paths: "cargo.lock", parts: lockOf(readTOML, cargoGood), most: maxLock},
	{paths: "gemfile.lock gems.locked", parts: lockText(rubyGood), most: maxLock},
	{paths: "podfile.lock", parts: lockOf(readYAML, podGood), most: maxLock},
	{paths: "pubspec.lock", parts: lockOf(readYAML, dartGood), most: maxLock},
	{paths: "flake.lock", parts: lockOf(readJSON, nixGood), most: maxLock},
	{paths: "cartfile cartfile.private cartfile.resolved", parts: cartfile},
	{paths: "pubspec.yaml pubspec_overrides.yaml", parts: pubspec},
	{paths: "shard.yml", parts: shardYML},
	{paths: "*.gemspec *.podspec gemfile gemfile.* gemfiles/*.gemfile *.gemfile gems.rb podfile mix.exs package.swift package@swift-*.swift *.nimble", parts: manifestProgram},
	{paths: "*.podspec.json", parts: podspecJSON},
	{paths: "dub.json", parts: dub},
	{paths: "dub.sdl", parts: dubSDL},
	{paths: "rebar.config", parts: rebar},
	{paths: "rebar.config.script *.app.src.script", does: "runs at `rebar3 compile`"},
	{paths: "deps/build.jl", does: "runs at an installation of julia packages"},
	{paths: "setup.hs setup.lhs", does: "runs at `cabal build`"},
	{paths: "vcpkg-configuration.json", does: "says from where packages of C++ come"},
	{paths: "vcpkg.json", parts: vcpkg},
	{paths: "conanfile.py", does: "runs at `conan install`"},
	{paths: ".gemrc .bundle/config extconf.rb", does: "configures or runs in an installation of gems"},
	{paths: "makefile.pl build.pl", does: "runs at an installation of perl modules"},

	// Debuggers and interpreters that read the folder that they start in.
	{paths: ".gdbinit .gdbinit-* *-gdb.py *-gdb.gdb *-gdb.scm .lldbinit .lldbinit-* .perldb .rdbgrc .rdbgrc.rb .byebugrc .debuginit", does: "runs in a debugger that starts in the folder"},
	{paths: ".rprofile .renviron .rdata .irbrc .pryrc .pdbrc .pdbrc.py .iex.exs .ghci .ghci.standalone .ocamlinit .octaverc startup.m .erlang jupyter_*_config.py jupyter_*_config.json ipython_config.py .ipython/ .jupyter/ .guile .sbclrc .scalarc", does: "runs in an interpreter that starts in the folder"},
	{paths: "autorun.inf desktop.ini *.lnk *.scf *.url *.library-ms *.searchconnector-ms", does: "acts where the folder is opened on Windows"},
	{paths: ".directory *.desktop *.webloc *.inetloc *.fileloc", does: "acts where the folder is opened on a desktop"},
}

// scripted is what a script or recipe does that sets git's hooks by itself; it
// has no place of its own.
var scripted = row{parts: lineParts("sets the folder of git's hooks", `(?i)core\.hookspath`)}
