package config

import "agency/internal/agency"

// Defaults is the configuration without any file: those that
// docs/configuration.md lists.
func Defaults() Config {
	return Config{
		Version:           1,
		Mode:              agency.ModeSingle,
		Triggers:          []string{"feature_size_large", "manual_request", "single_agent_failure"},
		MaxParallelAgents: 3,
		RetryBudget:       3,
		OnError:           "single",
		Rollback:          agency.RollbackKeep,
		BranchPrefix:      "agency",
		SharedWrites:      []string{"**/go.sum", "**/package-lock.json", "CHANGELOG.md"},
		Budget:            Budget{USD: 20, Tokens: 5_000_000, WallMinutes: 480},
		Land:              agency.LandMerge,
		BatchAboveSeconds: 60,
		Providers:         defaultProviders(),
		Prices:            map[string]Price{},
		Windows:           map[string]int{},
		Sees:              []string{},
		Models: map[string][]string{
			LevelReasoningHeavy: {"anthropic/claude-opus-4-1"},
			LevelCapable:        {"anthropic/claude-sonnet-4-5"},
			LevelFastCheap:      {"anthropic/claude-haiku-4-5"},
		},
		Routing: Routing{
			Strategy: "complexity", SimpleMaxFiles: 2, SimpleMaxCriteria: 3,
			ComplexMinFiles: 5, ComplexMinCriteria: 7,
			Roles: []string{string(agency.RoleScaffolder), string(agency.RoleTestEngineer), string(agency.RoleCleanup), string(agency.RoleGeneralist), string(agency.RoleImplementer)},
		},
		Commands:       Commands{TimeoutSeconds: 1800},
		Agents:         defaultAgents(),
		ProducerCritic: ProducerCritic{MaxIterations: 5, RequireLintPass: true, RequireTestsPass: true, TimeoutSeconds: 3600},
		Tiers:          Tiers{T3MeshTimeoutMinutes: 10, T2ConflictCycles: 2},
		Overseer:       defaultOverseer(),
		Board:          Board{MaxQueueSize: 1000, ReceiveTimeoutSeconds: 30, RetentionHours: 24, CleanupIntervalSeconds: 3600, ResponseMinutes: 30},
		Contracts:      Contracts{RequireAcceptanceCriteria: true, MaxFiles: 5, MaxLines: 500, MaxVerificationSteps: 5},
		Context:        Context{MaxTokens: 100_000, IncludeTests: true, IncludeSimilar: true, LanguageServers: "auto"},
		Quality: Quality{
			Enabled: true, MinOverallScore: 70, MinCorrectnessScore: 80, MinSecurityScore: 60,
			Analyzers: Analyzers{Security: true, Readability: true, Maintainability: true},
		},
		Sandbox: Sandbox{
			Mode: "auto", Network: "none", TimeoutSeconds: 120, MemoryMB: 2048, Processes: 256, OutputKB: 256,
			AllowHosts: []string{}, SetupHosts: []string{}, Read: []string{}, Loopback: "deny",
		},
		MCP: map[string]MCP{},
		Visibility: Visibility{
			LogLevel: "normal", InspectionGates: InspectionGates{T1Plan: true, T2Synthesis: true},
			GateTimeoutMinutes: 60, MaxWaitingGates: 5,
		},
		Notify:    []Notify{},
		VCS:       VCS{Type: "git"},
		Resources: map[string]int{},
		Improve:   Improve{RequireHumanApproval: true},
	}
}

// The capability levels, strongest first.
const (
	LevelReasoningHeavy = string(agency.ReasoningHeavy)
	LevelCapable        = string(agency.Capable)
	LevelFastCheap      = string(agency.FastCheap)
)

func levels() []string { return []string{LevelReasoningHeavy, LevelCapable, LevelFastCheap} }

func defaultProviders() map[string]Provider {
	return map[string]Provider{
		"anthropic": {Type: "anthropic", APIKey: "${ANTHROPIC_API_KEY}"},
		"openai":    {Type: "openai", APIKey: "${OPENAI_API_KEY}"},
		"google":    {Type: "gemini", APIKey: "${GEMINI_API_KEY}"},
		"local":     {Type: "openai", BaseURL: "http://127.0.0.1:11434/v1", APIKey: NoKey},
		"rehearsal": {Type: "rehearsal"},
	}
}

func defaultOverseer() Overseer {
	return Overseer{
		Enabled: true, CheckIntervalSeconds: 10, NudgeCooldownSeconds: 60, MaxNudgesPerAgent: 5, HaltOnCritical: true,
		MaxTokens: 150_000, TokenWarningThreshold: 100_000, TimeoutSeconds: 1800, SnapshotHistorySize: 20,
		LoopDetectionWindow: 5, StagnationTokenThreshold: 10_000, FailureIncreaseThreshold: 5,
		Patterns:      OverseerPatterns{LoopDetection: true, StagnationDetection: true, DangerDetection: true},
		WarnThreshold: "medium", ForceStopThreshold: "critical",
	}
}

// Role ids of the generalist and the other roles stand in the keys tag of
// Config.Agents; here only what differs from the common limits (docs/design.md, Modes).
func defaultAgents() map[string]Agent {
	common := Agent{
		Model: LevelCapable, TimeoutSeconds: 1800, MaxTurns: 50, Runtime: RuntimeNative,
	}
	agents := map[string]Agent{}
	for _, role := range roles() {
		common.Talents = map[string]string{} // each its own
		agents[role] = common
	}
	set := func(role agency.RoleID, change func(*Agent)) {
		a := agents[string(role)]
		change(&a)
		agents[string(role)] = a
	}
	set(agency.RoleProjectManager, func(a *Agent) { a.MaxTurns, a.TimeoutSeconds = 30, 900 })
	set(agency.RoleScaffolder, func(a *Agent) { a.Talent, a.MaxTokensPerSession = "senior-developer", 150_000 })
	set(agency.RoleTestEngineer, func(a *Agent) { a.MaxTurns, a.TimeoutSeconds = 40, 1200 })
	set(agency.RoleReviewer, func(a *Agent) { a.MaxTurns, a.TimeoutSeconds = 20, 600 })
	set(agency.RoleOverseer, func(a *Agent) { a.MaxTurns, a.MaxTokens, a.Model = 100, 2048, LevelFastCheap })
	for _, role := range []agency.RoleID{agency.RoleCleanup, agency.RoleImplementer} {
		set(role, func(a *Agent) { a.Model = LevelFastCheap })
	}
	for _, role := range []agency.RoleID{agency.RoleVisionary, agency.RoleLead, agency.RoleArchitect} {
		set(role, func(a *Agent) { a.Model = LevelReasoningHeavy })
	}
	for role, talents := range tierTalents() {
		set(role, func(a *Agent) { a.Talent, a.Talents = talents[""], talents; delete(talents, "") })
	}
	return agents
}

// tierTalents are the specialists of the tiers by domain; "" is for any other.
func tierTalents() map[agency.RoleID]map[string]string {
	return map[agency.RoleID]map[string]string{
		agency.RoleVisionary: {"": "nexus-strategy"},
		agency.RoleLead:      {"": "software-architect"},
		agency.RoleArchitect: {"": "software-architect", "infra": "devops-automator", "data": "data-engineer"},
		agency.RoleSquadLead: {"": "senior-developer", "reliability": "sre"},
		agency.RoleImplementer: {
			"frontend": "frontend-developer", "backend": "backend-architect", "database": "database-optimizer", "devops": "devops-automator",
			"mobile": "mobile-app-builder", "ai": "ai-engineer", "ml": "ai-engineer", "security": "security-engineer", "docs": "technical-writer",
		},
		agency.RoleVerifier: {
			"": "code-reviewer", "integration": "reality-checker", "api": "api-tester", "performance": "performance-engineer", "security": "security-engineer",
		},
	}
}

// RuntimeNative is the session loop of the program itself.
const RuntimeNative = "native"

// Runtimes are the names of those of this version, each in the daemon's list.
func Runtimes() []string { return []string{RuntimeNative} }

// runtimes are the names of what may run a session, beside acp:COMMAND: those of
// this version, and those that later ones may have.
func runtimes() []string {
	return append(Runtimes(), "auto", "claude", "codex", "gemini", "opencode")
}
