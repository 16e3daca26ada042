package config

import (
	"strconv"
	"strings"

	"agency/internal/agency"
)

// Config is every setting with its effective value. It is copied into the run
// as JSON and holds no secret: see Secret.
//
// The tags drive everything that is generated or checked from this type: doc
// (meaning, for the schema and the reference), enum, min and max (inclusive)
// and above (exclusive), form (see forms.go), keys (allowed names of a map),
// alias (other names of them), fixed (the only value), required ("true", or
// "new": only where no weaker layer has the entry), expand ("true": ${NAME} is
// replaced, "secret": at use only).
type Config struct {
	Version           int                 `json:"version" doc:"version of this file's form" min:"1" max:"1"`
	Mode              agency.Mode         `json:"mode" doc:"which agents stand at which step of a run" enum:"single,contract,producer_critic,multi_agent,tiered,full"`
	Triggers          []string            `json:"triggers" doc:"when a single-mode run moves up by itself" enum:"feature_size_large,manual_request,single_agent_failure"`
	Escalate          string              `json:"escalate,omitempty" doc:"whether a single-mode run may move up by its triggers: auto; ask, at a gate; never; empty: ask where its command has a terminal to ask at, else auto" enum:",ask,auto,never"`
	MaxParallelAgents int                 `json:"max_parallel_agents" doc:"agents at work at the same time" min:"1" max:"1000"`
	RetryBudget       int                 `json:"retry_budget" doc:"attempts at a contract: failed verification, conflict and runtime death count alike" min:"1" max:"100"`
	Rollback          agency.Rollback     `json:"rollback" doc:"from which files the attempt after a failed one begins: as they are (keep), of the claim that verified best, or what the work began from (base); one whose way the critic or the overseer finds wrong begins from the base under keep, too" enum:"keep,best,base"`
	OnError           string              `json:"on_error" doc:"what a failed plan falls back to" enum:"single,stop"`
	BranchPrefix      string              `json:"branch_prefix" doc:"first part of the names of the run's branches" form:"ref"`
	SharedWrites      []string            `json:"shared_writes" doc:"globs of files that do not count as overlap between contracts" form:"glob"`
	Budget            Budget              `json:"budget" doc:"the run stops at a gate before passing one of these; only what a provider counts above a request's reserved worst case passes one, by that request alone"`
	Land              agency.LandMode     `json:"land" doc:"what happens to the run's branch after the merge gate" enum:"branch,merge,pull_request"`
	BatchAboveSeconds int                 `json:"batch_above_seconds" doc:"once a run's checks take longer than this, landings that wait for each other are verified together, as one tree; a red one is halved until the culprit is alone" min:"1" max:"86400"`
	Providers         map[string]Provider `json:"providers" doc:"model providers by name; any number, any names" form:"name"`
	Prices            map[string]Price    `json:"prices" doc:"provider/model: price in USD per million tokens; laid over the catalogue. What answers under another name than it was asked by is paid by the price of that name, where there is one; without any, the model counts tokens only and is shown as unpriced" form:"model"`
	Windows           map[string]int      `json:"windows" doc:"provider/model: tokens of the context window; laid over the catalogue, for models that it does not know" form:"model" min:"1000" max:"100000000"`
	Sees              []string            `json:"sees" doc:"provider/model: models that see pictures, beside those that the catalogue knows to" form:"model"`
	Models            map[string][]string `json:"models" doc:"capability level: provider/model in order of fallback; without this key the first of anthropic, openai, google whose key is set" keys:"reasoning-heavy,capable,fast-cheap" form:"model"`
	Routing           Routing             `json:"routing" doc:"how a contract's complexity picks a capability level"`
	Commands          Commands            `json:"commands" doc:"the repository's own commands, run in the sandbox; ${NAME} in them is the shell's"`
	Agents            map[string]Agent    `json:"agents" doc:"settings per role" keys:"project_manager,scaffolder,test_engineer,reviewer,overseer,cleanup,generalist,t1_visionary,t2_lead,t2_architect,t3_lead,t4_implementer,t5_verifier" alias:"pm=project_manager,producer=scaffolder,critic=reviewer,tester=test_engineer"`
	ProducerCritic    ProducerCritic      `json:"producer_critic" doc:"the loop of producer and critic"`
	Tiers             Tiers               `json:"tiers" doc:"tiered runs"`
	Overseer          Overseer            `json:"overseer" doc:"the watcher of sessions"`
	Board             Board               `json:"board" doc:"messages between agents"`
	Contracts         Contracts           `json:"contracts" doc:"what a contract may look like"`
	Context           Context             `json:"context" doc:"what is staged for a session"`
	Quality           Quality             `json:"quality" doc:"the quality score, by what is built in and the analyzers that commands see (golangci-lint, staticcheck, gosec, ruff, bandit, ESLint, semgrep, clippy); it never outvotes a failed test"`
	Sandbox           Sandbox             `json:"sandbox" doc:"what commands may reach and use"`
	MCP               map[string]MCP      `json:"mcp" doc:"MCP servers by name" form:"name"`
	Visibility        Visibility          `json:"visibility" doc:"what people see and decide"`
	Notify            []Notify            `json:"notify" doc:"where gates and ends of runs are announced"`
	Hooks             Hooks               `json:"hooks,omitempty" doc:"commands of yours that run on this machine, outside of the sandbox, when something happens in a run; in your own file alone"`
	VCS               VCS                 `json:"vcs" doc:"where the repository is hosted"`
	Resources         map[string]int      `json:"resources" doc:"what is scarce on this machine: name: how many commands that need it may run at once, across all runs and repositories of yours; commands.needs and contracts name what they need" form:"resource" min:"1" max:"1000"`
	NotifyQuietHours  string              `json:"notify_quiet_hours" doc:"hours in which nothing is announced, such as 22:00-07:00, in the machine's time zone; what falls in them is told in one message for each place when they end; empty: none" form:"hours"`
	Profiles          map[string]Profile  `json:"profiles,omitempty" doc:"name: settings that --profile NAME lays over all files; in your own file alone" form:"name"`
	Improve           Improve             `json:"improve" doc:"the self-improvement loop"`
	Store             Store               `json:"store" doc:"where runs are recorded"`
}

// Budget caps a run. Money holds only for models with a price.
type Budget struct {
	USD         float64 `json:"usd" doc:"US dollars" above:"0" max:"1000000"`
	Tokens      int64   `json:"tokens" doc:"output plus uncached input tokens" min:"1"`
	WallMinutes int     `json:"wall_minutes" doc:"minutes with a session or check at work; a provider's backoff is waited out and is not work" min:"1" max:"525600"`
	DailyUSD    float64 `json:"daily_usd,omitempty" doc:"US dollars that all runs of all repositories may spend on a calendar day of the machine's time zone, with what they spent that day before it was set; in your own file alone; 0: no such limit" min:"0" max:"1000000"`
	MonthlyUSD  float64 `json:"monthly_usd,omitempty" doc:"likewise in a calendar month" min:"0" max:"1000000"`
}

// Provider is one place that answers model requests.
type Provider struct {
	Type     string `json:"type" doc:"the wire it speaks" enum:"anthropic,openai,gemini,rehearsal" required:"new"`
	BaseURL  string `json:"base_url,omitempty" doc:"what the vendor's SDK takes: with /v1 for openai, without for anthropic and gemini; empty: the vendor's own" form:"url" expand:"true"`
	APIKey   Secret `json:"api_key,omitempty" doc:"the key, as ${NAME}; none where the server wants none" expand:"secret"`
	API      string `json:"api,omitempty" doc:"which of OpenAI's APIs; chat where empty" enum:",chat,responses"`
	Thinking int    `json:"thinking_tokens,omitempty" doc:"Anthropic: how many tokens of an answer the model may think, at least 1024; 0: as the catalogue of models has it; -1: none" min:"-1" max:"1000000"`
	Script   string `json:"script,omitempty" doc:"rehearsal script file; empty: the embedded one" expand:"true"`
	MaxWait  int    `json:"max_wait_minutes,omitempty" doc:"minutes for which one request waits at most while the provider limits the rate, as long as it asks each time, also where the host is ended meanwhile; no such wait is work; 0: 60; where another model of the list comes after it, 5" min:"0" max:"1440"`
	Header   int    `json:"first_byte_seconds,omitempty" doc:"seconds until an answer begins, else the request counts as hanging and is sent again; 0: 180, and 600 at an address of this machine, whose models read long prompts slowly" min:"0" max:"86400"`
	Idle     int    `json:"idle_seconds,omitempty" doc:"seconds between two pieces of an answer, likewise; 0: 120" min:"0" max:"86400"`
}

// Price is what a model costs in US dollars per million tokens. It converts
// to agency.Price.
type Price struct {
	In       float64 `json:"in" doc:"USD per million input tokens" min:"0" max:"1000000" required:"true"`
	CachedIn float64 `json:"cached_in" doc:"USD per million input tokens read from the provider's cache; the price of in where absent" min:"0" max:"1000000"`
	Out      float64 `json:"out" doc:"USD per million output tokens" min:"0" max:"1000000" required:"true"`
}

// Routing turns the size of a contract into a capability level (docs/design.md, Modes).
type Routing struct {
	Strategy           string   `json:"strategy" doc:"what decides the level: complexity, points for files, dependencies and criteria; cost, the cheapest level first; fixed, each role's own model" enum:"complexity,cost,fixed"`
	SimpleMaxFiles     int      `json:"simple_max_files" doc:"files up to which a contract is simple" min:"0" max:"100000"`
	SimpleMaxCriteria  int      `json:"simple_max_criteria" doc:"criteria up to which a contract is simple" min:"0" max:"100000"`
	ComplexMinFiles    int      `json:"complex_min_files" doc:"files above which a contract is complex" min:"1" max:"100000"`
	ComplexMinCriteria int      `json:"complex_min_criteria" doc:"criteria above which a contract is complex" min:"1" max:"100000"`
	Roles              []string `json:"roles" doc:"roles whose contracts are routed, in modes with contracts; where no file says it, those whose model no file names under agents" enum:"scaffolder,test_engineer,cleanup,generalist,t4_implementer"`
}

// Commands are the repository's own. An empty one does not exist.
type Commands struct {
	Test           string `json:"test" doc:"runs the tests; set to empty it says that there are none, and no gate asks because of it" form:"command"`
	Lint           string `json:"lint" doc:"runs the linters" form:"command"`
	Typecheck      string `json:"typecheck" doc:"checks types" form:"command"`
	Build          string `json:"build" doc:"builds everything" form:"command"`
	Setup          string `json:"setup" doc:"prepares a fresh checkout" form:"command"`
	TimeoutSeconds int    `json:"timeout_seconds" doc:"seconds that one of these may take" min:"1" max:"86400"`
	// Needs is nil where nobody names anything.
	Needs map[string][]string `json:"needs,omitempty" doc:"command: names of resources that it needs; it waits for them before its time begins" keys:"test,lint,typecheck,build,setup" form:"resource"`
}

// SandboxOff is the mode of no sandbox at all.
const SandboxOff = "off"

// Line is the commands in a line for people: those that a claim is always judged
// by, and others where there are some.
func (c Commands) Line() string {
	parts := []string{"test " + quoted(c.Test), "lint " + quoted(c.Lint)}
	if c.Typecheck != "" {
		parts = append(parts, "types "+quoted(c.Typecheck))
	}
	parts = append(parts, "build "+quoted(c.Build))
	if c.Setup != "" {
		parts = append(parts, "setup "+quoted(c.Setup))
	}
	return strings.Join(parts, "; ")
}

func quoted(s string) string {
	if s == "" {
		return "none"
	}
	return strconv.Quote(s)
}

// Agent is the settings of a role.
type Agent struct {
	Model               string            `json:"model" doc:"capability level or provider/model" form:"level_or_model"`
	Talent              string            `json:"talent" doc:"name of an agent file, your own or one that comes with the program, whose text stands in the prompt below the role's; empty: none" form:"talent"`
	Talents             map[string]string `json:"talents" doc:"domain: the talent of a session over work of that domain, instead of the role's; a domain of several words has that of the longest word among these" form:"talent"`
	MaxTokens           int               `json:"max_tokens" doc:"output tokens of one answer; 0: as many as the model gives, up to 64000" min:"0" max:"1000000"`
	MaxTokensPerSession int64             `json:"max_tokens_per_session" doc:"output plus uncached input tokens of a session; 0: half of the window of its model, from 100000 to 200000" min:"0"`
	TimeoutSeconds      int               `json:"timeout_seconds" doc:"seconds of a session" min:"1" max:"604800"`
	MaxTurns            int               `json:"max_turns" doc:"turns of a session" min:"1" max:"10000"`
	Runtime             string            `json:"runtime" doc:"what runs the session" form:"runtime"`
}

// ProducerCritic is the loop of producer and critic (docs/design.md, Reviews).
type ProducerCritic struct {
	MaxIterations              int  `json:"max_iterations" doc:"rounds of produce, verify, review" min:"1" max:"100"`
	RequireLintPass            bool `json:"require_lint_pass" doc:"no approval while lint fails"`
	RequireTestsPass           bool `json:"require_tests_pass" doc:"no approval while tests fail"`
	AllowMajorIssuesOnApproval bool `json:"allow_major_issues_on_approval" doc:"an approval may leave major issues"`
	RequirePerfect             bool `json:"require_perfect" doc:"an approval may not leave minor issues either"`
	TimeoutSeconds             int  `json:"timeout_seconds" doc:"seconds of the whole loop" min:"1" max:"604800"`
}

// Tiers is for tiered runs.
type Tiers struct {
	T3MeshTimeoutMinutes int `json:"t3_mesh_timeout_minutes" doc:"minutes in which squad leads must commit" min:"1" max:"10080"`
	T2ConflictCycles     int `json:"t2_conflict_cycles" doc:"rounds of conflict resolution" min:"1" max:"100"`
}

// Overseer watches sessions (docs/design.md, Modes).
type Overseer struct {
	Enabled                  bool             `json:"enabled" doc:"the deterministic detectors run"`
	CheckIntervalSeconds     int              `json:"check_interval_seconds" doc:"seconds between looks" min:"1" max:"86400"`
	NudgeCooldownSeconds     int              `json:"nudge_cooldown_seconds" doc:"seconds between nudges of one agent" min:"0" max:"86400"`
	MaxNudgesPerAgent        int              `json:"max_nudges_per_agent" doc:"nudges before escalation" min:"0" max:"1000"`
	HaltOnCritical           bool             `json:"halt_on_critical" doc:"a critical finding halts the agent"`
	MaxTokens                int64            `json:"max_tokens" doc:"tokens of an agent at which it counts as exhausted" min:"1"`
	TokenWarningThreshold    int64            `json:"token_warning_threshold" doc:"tokens of an agent at which it is warned" min:"1"`
	TimeoutSeconds           int              `json:"timeout_seconds" doc:"seconds of an agent at which it counts as timed out" min:"1" max:"604800"`
	SnapshotHistorySize      int              `json:"snapshot_history_size" doc:"looks that are remembered" min:"1" max:"10000"`
	LoopDetectionWindow      int              `json:"loop_detection_window" doc:"calls among which a loop is sought" min:"2" max:"1000"`
	StagnationTokenThreshold int64            `json:"stagnation_token_threshold" doc:"tokens spent without accepted progress" min:"1"`
	FailureIncreaseThreshold int              `json:"failure_increase_threshold" doc:"repeated failures" min:"1" max:"1000"`
	Model                    string           `json:"model" doc:"capability level or provider/model of the model-backed overseer; empty: none" form:"level_or_model"`
	Patterns                 OverseerPatterns `json:"patterns" doc:"detectors that are on"`
	WarnThreshold            string           `json:"warn_threshold" doc:"severity that warns" enum:"low,medium,high,critical"`
	ForceStopThreshold       string           `json:"force_stop_threshold" doc:"severity that halts" enum:"low,medium,high,critical"`
}

// OverseerPatterns switches detectors.
type OverseerPatterns struct {
	LoopDetection       bool `json:"loop_detection" doc:"loops, oscillation, repeated failures"`
	StagnationDetection bool `json:"stagnation_detection" doc:"tokens spent without progress"`
	DangerDetection     bool `json:"danger_detection" doc:"dangerous commands"`
}

// Board is the limits of messages.
type Board struct {
	MaxQueueSize           int `json:"max_queue_size" doc:"pending messages of one recipient" min:"1" max:"1000000"`
	ReceiveTimeoutSeconds  int `json:"receive_timeout_seconds" doc:"seconds that a receive waits" min:"1" max:"86400"`
	RetentionHours         int `json:"retention_hours" doc:"hours that processed mail is kept after the run's end" min:"0" max:"87600"`
	CleanupIntervalSeconds int `json:"cleanup_interval_seconds" doc:"seconds between sweeps" min:"1" max:"604800"`
	ResponseMinutes        int `json:"response_minutes" doc:"minutes after which an agent that asked another hears that no answer came; 0: never" min:"0" max:"43200"`
}

// Contracts is what a plan's contracts must keep to.
type Contracts struct {
	RequireAcceptanceCriteria bool `json:"require_acceptance_criteria" doc:"a contract without criteria is refused"`
	AutoDecompose             bool `json:"auto_decompose" doc:"in modes with a manager a contract over max_files or max_lines goes back to be split, and the rest of its plan stays"`
	MaxFiles                  int  `json:"max_files" doc:"files of a contract" min:"1" max:"100000"`
	MaxLines                  int  `json:"max_lines" doc:"lines that a contract of a plan may be estimated to change" min:"1" max:"10000000"`
	MaxVerificationSteps      int  `json:"max_verification_steps" doc:"verification steps of a feature" min:"1" max:"1000"`
}

// Context is what brief stages.
type Context struct {
	MaxTokens       int    `json:"max_tokens" doc:"tokens of the staged context" min:"1000" max:"100000000"`
	IncludeTests    bool   `json:"include_tests" doc:"stage the tests of relevant files"`
	IncludeSimilar  bool   `json:"include_similar" doc:"stage similar code"`
	VectorSearch    bool   `json:"vector_search" doc:"searches find code by its meaning, too: parts of committed files are sent to the provider of embeddings_model"`
	EmbeddingsModel string `json:"embeddings_model" doc:"provider/model of vector_search, of a provider of type openai; empty: none" form:"model_or_none"`
	LanguageServers string `json:"language_servers" doc:"auto: agents are told what names mean, and what an edit broke, by the language servers that the sandbox has, or your PATH below a home (pyright, basedpyright, TypeScript 7 or typescript-language-server, clangd, rust-analyzer, jdtls); off: none is started" enum:"auto,off"`
}

// Quality is the quality score. Scores run from 0 to 100.
type Quality struct {
	Enabled             bool      `json:"enabled" doc:"the score is computed"`
	MinOverallScore     int       `json:"min_overall_score" doc:"lowest overall score" min:"0" max:"100"`
	MinCorrectnessScore int       `json:"min_correctness_score" doc:"lowest correctness score" min:"0" max:"100"`
	MinSecurityScore    int       `json:"min_security_score" doc:"lowest security score" min:"0" max:"100"`
	BlockOnLowScore     bool      `json:"block_on_low_score" doc:"a low score blocks the landing"`
	Analyzers           Analyzers `json:"analyzers" doc:"analyzers that are on"`
}

// Analyzers switches the dimensions of the score.
type Analyzers struct {
	Security        bool `json:"security" doc:"security findings"`
	Readability     bool `json:"readability" doc:"readability findings"`
	Maintainability bool `json:"maintainability" doc:"maintainability findings"`
	Performance     bool `json:"performance" doc:"performance findings"`
}

// Sandbox is the walls and limits of every command.
type Sandbox struct {
	Mode           string   `json:"mode" doc:"auto: the strongest tier that works here; full: refuse where that is not the full tier; off: no walls, shown in every report" enum:"auto,full,off"`
	Network        string   `json:"network" doc:"what commands can reach" enum:"none"`
	TimeoutSeconds int      `json:"timeout_seconds" doc:"seconds of an agent's command" min:"1" max:"86400"`
	MemoryMB       int      `json:"memory_mb" doc:"memory of a command's process tree in MiB" min:"16" max:"16777216"`
	Processes      int      `json:"processes" doc:"processes and threads of a command" min:"8" max:"1000000"`
	OutputKB       int      `json:"output_kb" doc:"output of a command that is kept, head and tail, in KiB" min:"1" max:"65536"`
	AllowHosts     []string `json:"allow_hosts" doc:"hosts that commands may reach on port 443" form:"host"`
	SetupHosts     []string `json:"setup_hosts" doc:"hosts that the setup command may reach on port 443" form:"host"`
	Read           []string `json:"read" doc:"folders outside the repository that builds need, read-only: absolute, ~/ or relative to the repository" form:"path" expand:"true"`
	Loopback       string   `json:"loopback" doc:"whether commands without a network of their own may open internet sockets: 127.0.0.1 with every service on it and, as that tier cannot tell them apart, the internet; those that have a path stay refused" enum:"deny,allow"`
}

// MCP is a server that gives tools.
type MCP struct {
	Command []string `json:"command,omitempty" doc:"program and arguments of a server on stdio; it runs in the sandbox" form:"argv"`
	URL     string   `json:"url,omitempty" doc:"address of a server over HTTP" form:"url" expand:"true"`
	Roles   []string `json:"roles,omitempty" doc:"roles that get its tools; agent: every agent of a file that answers" form:"role_or_agent"`
	Scope   string   `json:"scope,omitempty" doc:"whether each session has a server of its own, or all of a run share one; empty: session" enum:"session,run"`
	// TimeoutSeconds is 0 where nobody sets it: a minute.
	TimeoutSeconds int `json:"timeout_seconds,omitempty" doc:"seconds that one call may take; 60 where absent" min:"1" max:"3600"`
}

// Visibility is what people see and decide.
type Visibility struct {
	StrictMode         bool            `json:"strict_mode" doc:"all inspection gates are on"`
	LogLevel           string          `json:"log_level" doc:"detail of the live log: verbose is what --verbose shows" enum:"normal,verbose"`
	InspectionGates    InspectionGates `json:"inspection_gates" doc:"gates beside those that always exist: merge, budget, question, dependencies, danger, escalation"`
	GateTimeoutMinutes int             `json:"gate_timeout_minutes" doc:"minutes without an answer until the run is announced as waiting; nothing is spent, nothing lost" min:"1" max:"525600"`
	MaxWaitingGates    int             `json:"max_waiting_gates" doc:"while as many gates wait, no new contract starts" min:"1" max:"1000"`
}

// InspectionGates are the optional ones.
type InspectionGates struct {
	Plan        bool `json:"plan" doc:"a manager's plan"`
	T1Plan      bool `json:"t1_plan" doc:"the visionary's plan; cannot be turned off, only answered by --yes" fixed:"true"`
	T2Lead      bool `json:"t2_lead" doc:"a lead's boundaries"`
	T2Synthesis bool `json:"t2_synthesis" doc:"the canonical architecture"`
	T3Plan      bool `json:"t3_plan" doc:"a squad lead's tasks"`
	T5Verdict   bool `json:"t5_verdict" doc:"the joint verdict"`
}

// Notify is one place to announce to.
type Notify struct {
	Type     string   `json:"type" doc:"kind of place" enum:"webhook,slack,email,desktop,shoutrrr" required:"true"`
	URL      Secret   `json:"url,omitempty" doc:"where a webhook or slack message goes (https://...), the mail server (smtp://user:password@host:587, or smtps:// for TLS from the first byte), or an address of shoutrrr (ntfy://..., discord://..., telegram://... and others)" expand:"secret"`
	Secret   Secret   `json:"secret,omitempty" doc:"a webhook's: with it each message is signed" expand:"secret"`
	To       []string `json:"to,omitempty" doc:"recipients of an email" form:"email"`
	From     string   `json:"from,omitempty" doc:"sender of an email; empty: the user of the url, where it is an address, or agency at the mail server's host" form:"email"`
	Events   []string `json:"events,omitempty" doc:"what is announced here: a gate that begins to wait, a run that failed or was interrupted, a run that succeeded or was cancelled; empty: all of it" enum:"gate,failure,end"`
	Insecure bool     `json:"insecure,omitempty" doc:"also without encryption to another machine: http:// for a webhook or slack, a mail server without STARTTLS"`
}

// Hooks are the user's own commands. They run outside of the sandbox: no file that comes with a
// repository may name one. What happened reaches them as AGENCY_EVENT (gate or finished),
// AGENCY_RUN, AGENCY_NUMBER, AGENCY_STATE, AGENCY_REPOSITORY, AGENCY_GATE, AGENCY_SUMMARY and
// AGENCY_KEY in the environment, and as a JSON document on standard input.
type Hooks struct {
	Gate     string `json:"gate,omitempty" doc:"run by sh -c when a gate begins to wait, with AGENCY_EVENT, AGENCY_RUN, AGENCY_NUMBER, AGENCY_STATE, AGENCY_REPOSITORY, AGENCY_GATE, AGENCY_SUMMARY and AGENCY_KEY in its environment and the same as JSON on standard input; ended after 30 seconds; ${NAME} in it is the shell's"`
	Finished string `json:"finished,omitempty" doc:"the same when a run has succeeded, failed or was cancelled"`
}

// VCS is the forge.
type VCS struct {
	Type string `json:"type" doc:"git: no forge" enum:"git,github,gitlab,gitea"`
}

// Improve is the self-improvement loop.
type Improve struct {
	Enabled               bool `json:"enabled" doc:"agents may propose improvements"`
	AllowToolCreation     bool `json:"allow_tool_creation" doc:"proposals may add tools"`
	AllowToolModification bool `json:"allow_tool_modification" doc:"proposals may change tools"`
	AutoApproveLowRisk    bool `json:"auto_approve_low_risk" doc:"low-risk proposals need no person"`
	RequireHumanApproval  bool `json:"require_human_approval" doc:"every proposal needs a person"`
}

// Store is where runs are recorded.
type Store struct {
	URL Secret `json:"url" doc:"empty: SQLite in the user's state folder; postgres://... for a fleet" expand:"secret"`
}
