package check

import "time"

// ReadAtMost bounds what is read of a command below what it is for others.
func (c *Checker) ReadAtMost(bytes int64) { c.reads = bytes }

// ReadFor gives one report another time of the processor.
func (c *Checker) ReadFor(each time.Duration) { c.each = each }
