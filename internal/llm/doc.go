// Package llm is the one way to ask a language model: a canonical message
// form, a narrow interface, named faults and named stop reasons,
// and the JSON and HTTP that adapters share.
//
// The adapters to providers are its sub-packages openai, anthropic and gemini,
// which speak REST themselves (the vendors' SDKs serve their tests alone); the
// offline player is rehearsal, served over HTTP by rehearsal/wire; failover asks
// again, and the next model of a list; catalog knows models, prices and windows;
// llmtest is the suite that an adapter passes.
//
// The package does not run tool calls, keep conversations, count money or read
// the environment: that is work of session, budget and config.
package llm
