// Package llm is the one way to ask a language model: a canonical message
// form, a narrow streaming interface, named faults and named stop reasons,
// and two decorators, Retry and Fallback.
//
// The adapters to providers are its sub-packages openai and anthropic; the
// offline player is rehearsal, served over HTTP by rehearsal/wire; catalog
// knows models, prices and windows; llmtest is the suite that an adapter
// passes.
//
// The package does not run tool calls, keep conversations, count money or read
// the environment: that is work of session, budget and config.
package llm
