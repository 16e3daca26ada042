// Package api is what a client and the host of a repository say to each other:
// the documents that commands print as JSON, the requests that
// change something, errors as they cross the wire, and the client that speaks
// HTTP over the host's unix socket, with the token of the host's start.
//
// It knows neither the store nor the host: serve answers these requests, and
// host/view reads the same documents where no host lives.
package api

import (
	"context"
	"iter"

	"agency/internal/agency"
)

// Wire is the version of this package's requests and documents. Two builds
// with the same Wire can talk; hello and drain stay the same in all versions.
const Wire = 4

// HostName is what the Host header of every request says. A page of a browser
// that was led to the socket by a name of its own says another one.
const HostName = "agency"

// Looker answers what a command asks that only looks. Errors are those of
// agency: KindNotFound for an unknown run.
type Looker interface {
	Runs(ctx context.Context) ([]RunDoc, error)
	// Inspect gives the whole of a run, or at least what an Extent says of it, of which
	// one is given at most.
	Inspect(ctx context.Context, run agency.RunID, of ...Extent) (InspectDoc, error)
	// Cost likewise.
	Cost(ctx context.Context, run agency.RunID, of ...Extent) (CostDoc, error)
	// Events gives the log after an id in order, without loss or repetition.
	// With Follow it goes on until the context ends or the host leaves.
	Events(ctx context.Context, q EventQuery) iter.Seq2[agency.Event, error]
}

// Recorder reads what a run recorded in full.
type Recorder interface {
	Diff(ctx context.Context, run agency.RunID) (DiffDoc, error)
	// Transcript gives a session's conversation, or of a turn, of which one is given at most,
	// at least that.
	Transcript(ctx context.Context, run agency.RunID, session agency.SessionID, turn ...int) (TranscriptDoc, error)
	Messages(ctx context.Context, run agency.RunID) ([]MessageDoc, error)
	Gates(ctx context.Context, run agency.RunID) ([]agency.Gate, error)
}

// View is everything that can be looked at, live or at rest.
type View interface {
	Looker
	Recorder
	// DiskUse is what the files of each run take, in bytes; a run that could
	// not be measured in a moment is missing.
	DiskUse(ctx context.Context) (map[agency.RunID]int64, error)
	// Outcomes are what the latest contracts of all runs came to, removed ones too,
	// the latest first.
	Outcomes(ctx context.Context) ([]agency.Outcome, error)
	// Stream gives what the models of a run say while they say it, from what is kept of
	// the answers that come now on, until the context ends or the host leaves. Nothing
	// of it is recorded: where no host lives it ends at once.
	Stream(ctx context.Context, run agency.RunID) iter.Seq2[Delta, error]
	// Decisions are what the agents of a run decided together and what is kept of all
	// runs, by key; of an empty run only these.
	Decisions(ctx context.Context, run agency.RunID) ([]agency.SharedDecision, error)
}

var _ View = (*Client)(nil)
