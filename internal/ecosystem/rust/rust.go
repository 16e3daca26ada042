// Package rust is what is known of Rust and its tools.
package rust

import "agency/internal/ecosystem"

// Ecosystem gives all of it.
func Ecosystem() ecosystem.Ecosystem {
	return ecosystem.Ecosystem{Name: ecosystem.Rust, Source: source(), Runners: runners(), Project: project(), Awareness: testAwareness()}
}
