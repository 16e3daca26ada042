// Package failover keeps a request to a model going: Retry asks again after faults
// that may pass, Fallback asks the next model of a list. Both are models themselves,
// around those that they ask, and say what they do by events (llm.Retrying,
// llm.Asking).
package failover
