package codebase

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"
	"time"

	"agency/internal/store/fulltext"
)

// Embedder makes vectors of texts that are near each other where the texts mean the same.
// What it is given leaves the machine.
type Embedder interface {
	// Model names what makes the vectors: those of two do not compare.
	Model() string
	// May tells whether a part of a file may leave the machine; of a question the path is "".
	May(path, text string) bool
	// Embed gives a vector for each text, all of one length.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// With is the checkout with searches by meaning beside those by words.
func (t Tree) With(m Embedder) Tree {
	t.embedder = m
	return t
}

// Bounds of what is asked of an Embedder.
const (
	meaningWeight = 1
	// maxSent is how many bytes of a passage are sent: no model counts more tokens than
	// bytes, and those in use take 8191 tokens or more.
	maxSent   = 6000
	sentAtOne = 16              // passages in one request
	sentAtAll = 4096            // passages that one search has sent behind it
	patience  = 3 * time.Second // that a search waits for its own vector
)

// sent is what of a passage is sent: where it stands, and its text.
func sent(path string, text []byte) string {
	return path + "\n" + strings.ToValidUTF8(string(text[:min(len(text), maxSent)]), "")
}

// sameOf tells passages of one text from others: an edit of a file leaves the vectors of its
// other passages.
func sameOf(path string, text []byte) string {
	sum := sha256.Sum256([]byte(sent(path, text)))
	return hex.EncodeToString(sum[:16])
}

// byMeaning finds passages by the vectors that there are, and has missing ones made behind
// the answer. Where the question has no vector, the note says why.
func byMeaning(ctx context.Context, t Tree, text string, all []source) (hits []fulltext.Hit, note string) {
	m := t.embedder
	if m == nil {
		return nil, ""
	}
	const alone = "this is by full text alone: "
	if !m.May("", text) {
		return nil, alone + "the question holds what looks like a secret, and is not sent"
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	vectors, err := m.Embed(within, []string{text})
	if err == nil {
		hits, err = t.e.index.Near(ctx, m.Model(), vectors[0], fetched)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ""
	case within.Err() != nil:
		return nil, alone + m.Model() + " gave no vector within " + patience.String()
	case err != nil:
		return nil, alone + err.Error()
	}
	if len(hits) == 0 || t.e.behind.busy(embedding) {
		note = "vectors of the code are being made; a later search answers better"
	}
	embedLater(t, all)
	return hits, note
}

// embedLater has vectors made of the passages that have none.
func embedLater(t Tree, all []source) {
	t.e.behind.start(embedding, func(ctx context.Context) {
		keys := keysOf(all)
		bare, err := t.e.index.Bare(ctx, t.embedder.Model(), keys)
		if err != nil {
			return // the next search begins again
		}
		want, of := map[string]bool{}, map[string]bool{}
		for _, b := range bare {
			want[b.Same], of[b.Key] = true, true
		}
		n := 0
		for lot := range dueOf(ctx, t, pick(all, of), want) {
			if n += len(lot); n > sentAtAll || embedLot(ctx, t, lot) != nil {
				return // likewise, once its own question was answered
			}
		}
	})
}

// dueOf are the wanted passages of files that may leave the machine, a request at a time.
func dueOf(ctx context.Context, t Tree, files []source, want map[string]bool) iter.Seq[[]part] {
	return func(yield func([]part) bool) {
		var lot []part
		for _, f := range files {
			parts, err := t.parts(ctx, source{path: f.path, text: t.read(f.path)})
			if err != nil {
				return
			}
			for _, p := range parts {
				if !want[p.Same] || !t.embedder.May(f.path, string(p.text)) {
					continue
				}
				delete(want, p.Same)
				if lot = append(lot, p); len(lot) == sentAtOne {
					if !yield(lot) {
						return
					}
					lot = nil
				}
			}
		}
		if len(lot) > 0 {
			yield(lot)
		}
	}
}

func embedLot(ctx context.Context, t Tree, lot []part) error {
	texts := make([]string, len(lot))
	for i, p := range lot {
		texts[i] = sent(p.path, p.text)
	}
	vectors, err := t.embedder.Embed(ctx, texts)
	if err != nil {
		return err
	}
	out := make(map[string][]float32, len(lot))
	for i, p := range lot {
		out[p.Same] = vectors[i]
	}
	return t.e.index.AddVectors(ctx, t.embedder.Model(), out)
}
