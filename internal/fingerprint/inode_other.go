//go:build !unix

package fingerprint

import "io/fs"

func Inode(fs.FileInfo) string { return "" }
