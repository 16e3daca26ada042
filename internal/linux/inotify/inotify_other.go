//go:build !linux

// Package inotify tells which files below a folder changed. It is for Linux alone.
package inotify

import "errors"

// Watcher is none here.
type Watcher struct{}

// Open fails.
func Open(string, func(string) bool) (*Watcher, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Watcher) Close() error { return nil }

// Changed knows nothing.
func (*Watcher) Changed() (map[string]bool, bool) { return nil, false }
