package resources

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/host"
	"agency/internal/llm"
)

// The most of a person's pictures: every conversation begins with them, and agents look at
// others, too.
const (
	maxGiven      = 8
	maxGivenBytes = llm.MaxImagesBytes / 2
)

// images are the pictures of a request as a run keeps them. They are refused where nobody
// would see them.
func (pr *Preparer) images(r api.RunRequest, c host.RunConfig) (out []llm.Image, err error) {
	if len(r.Images) == 0 {
		return nil, nil
	}
	if len(r.Images) > maxGiven {
		return nil, agency.Errorf(agency.KindInvalid, "--image: %d pictures, the most is %d", len(r.Images), maxGiven)
	}
	size := 0
	for n, given := range r.Images {
		i, err := llm.ReadImage(fmt.Sprintf("%d-%s", n+1, plainName(given.Name)), given.Data)
		if err != nil {
			return nil, agency.Errorf(agency.KindInvalid, "--image %s: %w", given.Name, err)
		}
		if size += len(given.Data); size > maxGivenBytes {
			return nil, agency.Errorf(agency.KindInvalid, "--image %s: the pictures have more than %d bytes together", given.Name, maxGivenBytes)
		}
		out = append(out, i)
	}
	c.Config.Overseer.Model = "" // it is shown what agents do
	refs, err := c.Models()
	if err != nil || slices.ContainsFunc(refs, func(ref config.ModelRef) bool { return Sees(pr.Known, c.Config, ref) }) {
		return out, err
	}
	names := make([]string, len(refs))
	for n, ref := range refs {
		names[n] = ref.String()
	}
	return nil, agency.Errorf(agency.KindInvalid, "--image: no model of this run sees pictures: %s", strings.Join(names, ", ")).
		WithMend("name one that does under models: of agency.yaml, or, where one of these does, under sees:")
}

// plainName is the last part of a file's name, as a name in the checkouts of agents.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 128 && (r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, filepath.Base(name))
	return name[max(0, len(name)-60):]
}
