// Package python is what is known of Python and its tools.
package python

import "agency/internal/ecosystem"

// Ecosystem gives all of it.
func Ecosystem() ecosystem.Ecosystem {
	return ecosystem.Ecosystem{Name: ecosystem.Python, Source: source(), Runners: runners(), Launchers: launchers(), Project: project(), Awareness: testAwareness()}
}
