// Package node is what is known of JavaScript and TypeScript, on Node.js, and their tools.
package node

import "agency/internal/ecosystem"

// Ecosystem gives all of it.
func Ecosystem() ecosystem.Ecosystem {
	return ecosystem.Ecosystem{Name: ecosystem.Node, Source: source(), Runners: runners(), Launchers: launchers(), Project: project(), Awareness: testAwareness()}
}
