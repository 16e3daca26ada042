// Package golang is what is known of Go and its tools.
package golang

import "agency/internal/ecosystem"

// Ecosystem gives all of it.
func Ecosystem() ecosystem.Ecosystem {
	return ecosystem.Ecosystem{Name: ecosystem.Go, Source: source(), Runners: runners(), Project: project(), Awareness: testAwareness()}
}
