package main

import (
	"fmt"
	"strings"
)

const doneContracts = 3

// doneScript plays an agent that adds a function with its test to a package, and a
// manager with three contracts of that kind. It takes a second for an answer: no model
// that one would hire takes less, and the base's tests run meanwhile.
func doneScript() string {
	var plan, work strings.Builder
	for i := range doneContracts {
		fmt.Fprintf(&plan, `              - id: c%[1]d
                title: Subtract in p%[1]d
                description: Sub takes one number from another.
                assigned_role: generalist
                acceptance_criteria: [{id: sub, text: numbers are subtracted, check: {test: TestSub%[1]d}}]
                writes: [p%[1]d/]
                estimated_complexity: small
`, i)
		when := fmt.Sprintf("turn: 2, contract: c%d", doneContracts-1-i)
		if i == doneContracts-1 { // that of a single agent, too
			when = "turn: 2"
		}
		fmt.Fprintf(&work, `  - name: write in p%[1]d
    when: {%[2]s}
    calls:
      - {tool: write_file, args: {path: p%[1]d/sub.go, content: "package p%[1]d\n\n// Sub takes b from a.\nfunc Sub(a, b int) int {\n\treturn a - b\n}\n"}}
      - {tool: write_file, args: {path: p%[1]d/sub_test.go, content: "package p%[1]d\n\nimport \"testing\"\n\nfunc TestSub%[1]d(t *testing.T) {\n\tif Sub(3, 2) != 1 {\n\t\tt.Error(Word)\n\t}\n}\n"}}
`, doneContracts-1-i, when)
	}
	return `version: 1
name: done
seed: 3
latency: 1s
rules:
  - name: report
    when: {offers: final_report}
    calls: [{tool: final_report, args: {report: "Each package has its function, with a test."}}]
  - name: plan
    when: {role: project_manager}
    calls:
      - tool: submit_plan
        args:
          plan:
            contracts:
` + plan.String() + `  - name: approve
    when: {role: reviewer}
    calls: [{tool: submit_review, args: {verdict: approve, summary: "It subtracts."}}]
  - name: look
    when: {turn: 1}
    calls: [{tool: list_directory, args: {path: ".", depth: 2}}]
` + work.String() + `  - name: claim
    when: {turn: "3+"}
    calls: [{tool: signal_complete, args: {evidence: "the function is there, and its test"}}]
`
}
