package check

// ReadAtMost bounds what is read of a command below what it is for others.
func (c *Checker) ReadAtMost(bytes int64) { c.reads = bytes }
