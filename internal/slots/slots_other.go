//go:build !unix

package slots

import (
	"os"

	"agency/internal/agency"
)

// take refuses: commands run on no such system.
func take(string, string, bool) (*os.File, error) {
	return nil, agency.Errorf(agency.KindInvalid, "resources need locks of files that this system does not have")
}
