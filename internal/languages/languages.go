// Package languages lists the ecosystems that are known.
package languages

import (
	"path"
	"sync"

	"agency/internal/ecosystem"
	"agency/internal/ecosystem/golang"
	"agency/internal/ecosystem/jvm"
	"agency/internal/ecosystem/node"
	"agency/internal/ecosystem/others"
	"agency/internal/ecosystem/python"
	"agency/internal/ecosystem/rust"
)

// All are they, in the order in which they are asked.
func All() []ecosystem.Ecosystem { return all() }

var all = sync.OnceValue(func() []ecosystem.Ecosystem {
	return withOthers(golang.Ecosystem(), node.Ecosystem(), python.Ecosystem(), rust.Ecosystem(), jvm.Ecosystem())
})

// withOthers adds those of which little is known.
func withOthers(known ...ecosystem.Ecosystem) []ecosystem.Ecosystem {
	return append(known, others.Ecosystem(known))
}

// Of is the ecosystem of a source by the ending of its path; an empty one where
// it is of none that is known.
func Of(p string) *ecosystem.Ecosystem {
	of := byEnding()
	if e := of[path.Ext(p)]; e != nil {
		return e
	}
	return of[""]
}

var byEnding = sync.OnceValue(func() map[string]*ecosystem.Ecosystem {
	out, known := map[string]*ecosystem.Ecosystem{"": {}}, all()
	for i := range known {
		for _, ending := range known[i].Source.Endings {
			out[ending] = &known[i]
		}
	}
	return out
})
