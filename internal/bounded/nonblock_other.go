//go:build !unix

package bounded

import "os"

const readNow = os.O_RDONLY
