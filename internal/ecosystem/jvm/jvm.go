// Package jvm is what is known of Java and Kotlin and their tools.
package jvm

import "agency/internal/ecosystem"

// Ecosystem gives all of it.
func Ecosystem() ecosystem.Ecosystem {
	return ecosystem.Ecosystem{Name: ecosystem.JVM, Source: source(), Runners: runners(), Project: project(), Awareness: testAwareness()}
}
