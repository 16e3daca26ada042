package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"agency/internal/agency"
)

// Merge is the outcome of a three-way merge. Conflicts are the paths that do
// not merge; Tree then holds them with conflict marks.
type Merge struct {
	Tree      agency.OID
	Conflicts []string
	Messages  string
	// Contents are the conflicts as three files each, where nothing but the
	// content of files conflicts; nil otherwise.
	Contents []Contest
}

// Contest is a file that both sides of a merge changed.
type Contest struct{ Base, Ours, Theirs Entry }

// MergeTree merges two commits without an index or files. The base is the one
// that git finds in their history.
func (d Dir) MergeTree(ctx context.Context, ours, theirs agency.OID) (Merge, error) {
	if err := checkOID(ours, theirs); err != nil {
		return Merge{}, err
	}
	out, err := d.run(ctx, "merge-tree", "--write-tree", "-z", "--messages", string(ours), string(theirs))
	f := (*Failure)(nil)
	if err != nil && (!errors.As(err, &f) || f.Status != 1) {
		return Merge{}, err
	}
	head, rest, _ := strings.Cut(string(out), "\x00")
	m := Merge{Tree: agency.OID(head)}
	if idErr := checkOID(m.Tree); idErr != nil {
		return m, errors.Join(err, idErr)
	}
	if err == nil {
		return m, nil
	}
	var stages []Entry
	for rest != "" {
		var rec string
		rec, rest, _ = strings.Cut(rest, "\x00")
		if rec == "" {
			break // an empty field ends the list
		}
		e, err := parseStage(rec)
		if err != nil {
			return m, err
		}
		stages = append(stages, e)
		if !slices.Contains(m.Conflicts, e.Path) {
			m.Conflicts = append(m.Conflicts, e.Path)
		}
	}
	m.Messages = strings.ReplaceAll(rest, "\x00", "\n")
	if onlyContents(rest) {
		m.Contents = contests(stages)
	}
	return m, nil
}

func parseStage(rec string) (Entry, error) {
	meta, path, ok := strings.Cut(rec, "\t")
	parts := strings.Fields(meta)
	if !ok || len(parts) != 3 {
		return Entry{}, agency.Errorf(agency.KindInternal, "merge-tree wrote %q", rec)
	}
	mode, modeErr := strconv.ParseUint(parts[0], 8, 32)
	stage, stageErr := strconv.Atoi(parts[2])
	if err := errors.Join(modeErr, stageErr, checkOID(agency.OID(parts[1]))); err != nil {
		return Entry{}, agency.Errorf(agency.KindInternal, "merge-tree wrote %q: %w", rec, err)
	}
	return Entry{Mode: uint32(mode), ID: agency.OID(parts[1]), Stage: stage, Path: path}, nil
}

// onlyContents reads the messages: a count of paths, the paths, the message's
// type and its text, each ended by NUL.
func onlyContents(messages string) bool {
	f := strings.Split(strings.TrimSuffix(messages, "\x00"), "\x00")
	for i := 0; i < len(f); {
		n, err := strconv.Atoi(f[i])
		at := i + 1 + n
		if err != nil || n < 0 || at+1 >= len(f) {
			return false
		}
		if kind := f[at]; kind != "Auto-merging" && kind != "CONFLICT (contents)" {
			return false
		}
		i = at + 2
	}
	return true
}

// contests pairs the stages; nil where any path lacks one.
func contests(stages []Entry) []Contest {
	var out []Contest
	for i := 0; i < len(stages); i += 3 {
		if i+3 > len(stages) {
			return nil
		}
		c := Contest{stages[i], stages[i+1], stages[i+2]}
		if c.Base.Stage != 1 || c.Ours.Stage != 2 || c.Theirs.Stage != 3 || c.Base.Path != c.Ours.Path || c.Base.Path != c.Theirs.Path {
			return nil
		}
		out = append(out, c)
	}
	return out
}

// WriteBlob stores a content as it is.
func (d Dir) WriteBlob(ctx context.Context, content []byte) (agency.OID, error) {
	out, err := d.feed(ctx, bytes.NewReader(content), "hash-object", "-w", "--no-filters", "--stdin")
	if err != nil {
		return "", err
	}
	return parseOID(out)
}

// TreeWith is a tree with some of its files replaced. The index file is used
// and removed; two calls at a time need two of them.
func (d Dir) TreeWith(ctx context.Context, tree agency.OID, index string, entries []Entry) (agency.OID, error) {
	d = d.WithWorkTree("", index)
	defer func() { _ = os.Remove(index) }()
	if err := d.ReadTree(ctx, tree); err != nil {
		return "", err
	}
	if err := d.SetEntries(ctx, entries); err != nil {
		return "", err
	}
	return d.WriteTree(ctx)
}
