// Package team is what an agent tells others of its run, asks of them and decides
// for them: claims, questions, messages, reviews, and the contracts of a plan.
package team

import (
	"embed"

	"agency/internal/tool"
)

//go:embed *.md
var texts embed.FS

// Tools are those of this package.
func Tools() []tool.Tool {
	return []tool.Tool{
		collectResults(), createSubcontract(), finalReport(), getFeatureStatus(), getSubcontractStatus(), markFeatureComplete(), markSubcontractComplete(),
		requestClarification(), requestHandoff(), requestHumanInput(), requestImplementationChange(), sendMessage(), signalBlocked(), signalComplete(),
		noteDecision(), readDecisions(), reserve(), release(), spawnAgent(), submitPlan(), submitReview(), updateSubcontract(), waitForAgents(),
		submitTasks(), submitVerdict(), acceptRun(), rejectRun(), publishArtifact(), readArtifact(), proposePathAmendment(),
	}
}
