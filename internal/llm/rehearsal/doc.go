// Package rehearsal is a language model without a model: it plays a script,
// offline, and always the same way for the same request. The demo, the tests,
// a dry run of a configuration and fault injection use it.
//
// What it answers follows from the script, its seed and the request alone; a
// restarted process answers the same request identically. Which turn it is,
// and how often a rule has been played, is read off the conversation. The one
// exception are faults with `times`: they count the identical requests that
// this process has seen, because a request that failed leaves no trace in the
// next one.
//
// # Script
//
//	version: 1
//	name: example
//	seed: 7            # decides how answers are cut into pieces
//	latency: 20ms      # of every answer without its own
//	rules:             # the first that matches is played
//	  - name: first look
//	    when: {role: generalist, turn: 1}
//	    text: I read the contract ${{contract}}.
//	    calls:
//	      - tool: read_file
//	        args: {path: go.mod}
//	  - name: fix
//	    when: {result: {tool: run_tests, matches: '--- FAIL: (?P<test>\w+)'}, attempt: 1}
//	    text: ${{test}} fails.
//	    calls: [...]
//	    fault: {kind: rate_limited, times: 2, retry_after: 1s}
//
// A rule matches when every condition under `when` does: role, agent (the name of
// an agent of a file), contract and model (one or a list), attempt and turn (a number, "2-4", "3+" or a list;
// the first is 1), last (regular expression over the last user message: tool
// results and text), goal (over the contract's title and description), result
// (a tool result in the last message, by tool and pattern), seen and unseen
// (the same anywhere in the conversation), image (over the pictures of the conversation, each
// as its media type, size in pixels and SHA-256: image/png 40x30 ab12...), after (a rule played earlier in
// it), offers (tools the request must offer). `times` bounds how often a rule
// is played in one conversation, `once` is `times: 1`.
//
// In text and in strings of args, ${{NAME}} stands for a group captured by
// last, result, goal or seen (by number, of the first of them that has
// groups, or by name), or for role, agent, contract, attempt, turn, title, goal
// (of an agent of a file its input) or model.
//
// A rule that names no role is none for a reviewer, whose session is about a
// contract that others work on, unless it calls submit_review.
//
// When no rule matches, the answer names the missing rule and ends the
// session honestly by signal_blocked, where that is offered. A reviewer
// without a rule approves, and says that it only lets pass what is verified.
package rehearsal
