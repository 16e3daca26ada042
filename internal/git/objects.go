package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"agency/internal/agency"
)

// Blob is the content of a file of a tree or commit, at most most bytes of it:
// an agent's file may have any size. KindNotFound where the tree has no such
// file; IsTooLong, beside what was read, where it has more.
func (d Dir) Blob(ctx context.Context, tree agency.OID, path string, most int64) ([]byte, error) {
	if err := checkOID(tree); err != nil {
		return nil, err
	}
	if path == "" || strings.ContainsRune(path, 0) {
		return nil, agency.Errorf(agency.KindInvalid, "%q is no path", path)
	}
	return d.blob(ctx, string(tree)+":"+path, most)
}

// Content is the content of a blob, as Blob gives a file's.
func (d Dir) Content(ctx context.Context, id agency.OID, most int64) ([]byte, error) {
	if err := checkOID(id); err != nil {
		return nil, err
	}
	return d.blob(ctx, string(id), most)
}

// ContentTo writes the content of a blob of any size to w. An error of w ends
// it.
func (d Dir) ContentTo(ctx context.Context, id agency.OID, w io.Writer) error {
	if err := checkOID(id); err != nil {
		return err
	}
	return d.stream(ctx, w, "cat-file", "blob", string(id))
}

// SmudgedTo writes the content of a blob as a checkout would write it at path.
func (d Dir) SmudgedTo(ctx context.Context, id agency.OID, path string, w io.Writer) error {
	if err := checkOID(id); err != nil {
		return err
	}
	return d.stream(ctx, w, "cat-file", "--filters", "--path="+path, string(id))
}

func (d Dir) blob(ctx context.Context, name string, most int64) ([]byte, error) {
	out, err := d.host.run(ctx, command{dir: &d, args: []string{"cat-file", "blob", name}, most: most})
	if f := (*Failure)(nil); errors.As(err, &f) {
		return nil, agency.Errorf(agency.KindNotFound, "%s: %w", name, err)
	}
	return out, err
}

// Tree lists the files of a tree or commit, recursively.
func (d Dir) Tree(ctx context.Context, tree agency.OID) ([]Entry, error) {
	return d.lsTree(ctx, tree, "-r")
}

// Folders lists the folders of a tree or commit, recursively, without the root.
func (d Dir) Folders(ctx context.Context, tree agency.OID) ([]Entry, error) {
	return d.lsTree(ctx, tree, "-r", "-d")
}

func (d Dir) lsTree(ctx context.Context, tree agency.OID, flags ...string) ([]Entry, error) {
	if err := checkOID(tree); err != nil {
		return nil, err
	}
	args := append([]string{"ls-tree", "-z", "--full-tree"}, flags...)
	out, err := d.run(ctx, append(args, string(tree))...)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, rec := range fields(out) {
		meta, path, ok := strings.Cut(rec, "\t")
		parts := strings.Fields(meta)
		if !ok || len(parts) != 3 {
			return nil, agency.Errorf(agency.KindInternal, "ls-tree wrote %q", rec)
		}
		mode, err := strconv.ParseUint(parts[0], 8, 32)
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{Mode: uint32(mode), ID: agency.OID(parts[2]), Path: path})
	}
	return entries, nil
}

// Commit is one commit as the log shows it.
type Commit struct {
	ID      agency.OID
	Tree    agency.OID
	Parents []agency.OID
	Author  Identity
	Time    time.Time
	Message string // raw, with trailers
}

// Trailer is the value of a trailer of the message's last paragraph, "" where
// it has none. Only our own form "Key: value" is read.
func (c Commit) Trailer(key string) string {
	body := strings.TrimRight(c.Message, "\n")
	last := body[strings.LastIndex(body, "\n\n")+1:]
	if !strings.Contains(body, "\n\n") {
		return ""
	}
	for line := range strings.Lines(last) {
		if v, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), key+": "); ok {
			return v
		}
	}
	return ""
}

// LogOptions narrow a log.
type LogOptions struct {
	Not         []agency.OID // leave out what these reach
	Limit       int          // 0: all
	FirstParent bool
	Path        string // only commits that touch it
}

// Log lists commits from head backwards.
func (d Dir) Log(ctx context.Context, head agency.OID, opts LogOptions) ([]Commit, error) {
	if err := checkOID(append([]agency.OID{head}, opts.Not...)...); err != nil {
		return nil, err
	}
	args := []string{"log", "-z", "--no-show-signature", "--no-color", "--no-notes", "--no-mailmap", "--encoding=UTF-8", "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%B"}
	if opts.Limit > 0 {
		args = append(args, "--max-count="+strconv.Itoa(opts.Limit))
	}
	if opts.FirstParent {
		args = append(args, "--first-parent")
	}
	args = append(args, string(head))
	for _, id := range opts.Not {
		args = append(args, "^"+string(id))
	}
	args = append(args, "--")
	if opts.Path != "" {
		args = append(args, opts.Path)
	}
	out, err := d.run(ctx, args...)
	if err != nil {
		return nil, err
	}
	return parseLog(out)
}

func parseLog(out []byte) ([]Commit, error) {
	const width = 7
	parts := fields(out)
	if len(parts)%width != 0 {
		return nil, agency.Errorf(agency.KindInternal, "git log wrote %d fields", len(parts))
	}
	var commits []Commit
	for i := 0; i < len(parts); i += width {
		p := parts[i : i+width]
		at, err := strconv.ParseInt(p[5], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git log: %w", err)
		}
		c := Commit{
			ID: agency.OID(p[0]), Tree: agency.OID(p[1]), Author: Identity{Name: p[3], Email: p[4]},
			Time: time.Unix(at, 0).UTC(), Message: p[6],
		}
		for _, id := range strings.Fields(p[2]) {
			c.Parents = append(c.Parents, agency.OID(id))
		}
		commits = append(commits, c)
	}
	return commits, nil
}

// CommitTree writes a commit. The message is taken as it is, apart from bytes
// that are not UTF-8 and NUL. Nothing is signed and no hook runs.
func (d Dir) CommitTree(ctx context.Context, tree agency.OID, parents []agency.OID, message string, by Identity) (agency.OID, error) {
	return d.commit(ctx, "--no-gpg-sign", tree, parents, message, by, nil, nil)
}

func (d Dir) commit(ctx context.Context, sign string, tree agency.OID, parents []agency.OID, message string, by Identity, config, env []string) (agency.OID, error) {
	if err := checkOID(append([]agency.OID{tree}, parents...)...); err != nil {
		return "", err
	}
	args := []string{"commit-tree", sign}
	for _, p := range parents {
		args = append(args, "-p", string(p))
	}
	message = strings.ReplaceAll(strings.ToValidUTF8(message, "?"), "\x00", "")
	out, err := d.host.run(ctx, command{
		dir: &d, args: append(args, string(tree)), env: append(by.env(d.host.opts.Now()), env...),
		stdin: strings.NewReader(message), config: append([]string{"i18n.commitEncoding=UTF-8"}, config...),
	})
	if err != nil {
		return "", err
	}
	return parseOID(out)
}

// MergeBase is the best common ancestor of two commits, "" where there is
// none.
func (d Dir) MergeBase(ctx context.Context, a, b agency.OID) (agency.OID, error) {
	if err := checkOID(a, b); err != nil {
		return "", err
	}
	out, err := d.run(ctx, "merge-base", string(a), string(b))
	if f := (*Failure)(nil); errors.As(err, &f) && f.Status == 1 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return parseOID(out)
}

// IsAncestor tells whether a is reachable from b.
func (d Dir) IsAncestor(ctx context.Context, a, b agency.OID) (bool, error) {
	if err := checkOID(a, b); err != nil {
		return false, err
	}
	_, err := d.run(ctx, "merge-base", "--is-ancestor", string(a), string(b))
	if f := (*Failure)(nil); errors.As(err, &f) && f.Status == 1 {
		return false, nil
	}
	return err == nil, err
}

// Send copies the objects that tips reach and not does not into the folder of
// objects of another repository, checked (fsck) and synced to disk before it
// returns. Sending twice is harmless.
func (d Dir) Send(ctx context.Context, objects string, tips, not []agency.OID) error {
	if err := checkOID(append(tips[:len(tips):len(tips)], not...)...); err != nil {
		return err
	}
	var revs bytes.Buffer
	for _, id := range tips {
		fmt.Fprintln(&revs, id)
	}
	for _, id := range not {
		fmt.Fprintln(&revs, "^"+string(id))
	}
	r, w, err := os.Pipe()
	if err != nil {
		return agency.Errorf(agency.KindTransient, "sending objects: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	packed := make(chan error, 1)
	go func() {
		_, err := d.host.run(ctx, command{
			dir: &d, stdin: &revs, stdout: w,
			args: []string{"pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "-q"},
		})
		packed <- err
		_ = w.Close() // only now does the other side see an end
	}()
	into := d.WithObjects(objects).WithConfig(
		"transfer.fsckObjects=true", "receive.fsckObjects=true",
		"core.fsync=committed,loose-object", "core.fsyncMethod=batch")
	_, err = d.host.run(ctx, command{dir: &into, stdin: r, args: []string{"unpack-objects", "-q", "--strict"}})
	select {
	case packErr := <-packed: // ended while the pipe was open: by itself
		_ = r.Close()
		return cmp.Or(packErr, err)
	default:
	}
	_ = r.Close()
	if err != nil {
		cancel()
		return cmp.Or(err, <-packed) // which this ends
	}
	return <-packed
}
