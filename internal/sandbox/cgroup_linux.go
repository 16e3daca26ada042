package sandbox

import "syscall"

type hierarchy struct{}

type group struct{}

func findHierarchy() hierarchy { return hierarchy{} }

func (h hierarchy) open(Limits) *group { return nil }

func (h hierarchy) version() string { return "" }

func (g *group) close()                    {}
func (g *group) adopt(int)                 {}
func (g *group) into(*syscall.SysProcAttr) {}
func (g *group) outOfMemory() bool         { return false }
