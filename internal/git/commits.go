package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"agency/internal/agency"
)

// Commits reads, writes and merges commits.
type Commits struct{ dir Dir }

// Identity is who a commit is by.
type Identity struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// Fallback is the identity where git knows no user name.
var fallback = Identity{Name: "agency", Email: "agency@localhost"}

// OrDefault is the identity, or agency <agency@localhost> where it is not
// complete.
func (i Identity) OrDefault() Identity {
	i.Name, i.Email = clean(i.Name), clean(i.Email)
	if i.Name == "" || i.Email == "" {
		return fallback
	}
	return i
}

// String is the form that commits show.
func (i Identity) String() string { return fmt.Sprintf("%s <%s>", i.Name, i.Email) }

func (i Identity) env(now time.Time) []string {
	i = i.OrDefault()
	date := fmt.Sprintf("@%d %s", now.Unix(), now.Format("-0700"))
	return []string{
		"GIT_AUTHOR_NAME=" + i.Name, "GIT_AUTHOR_EMAIL=" + i.Email, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + i.Name, "GIT_COMMITTER_EMAIL=" + i.Email, "GIT_COMMITTER_DATE=" + date,
	}
}

// clean drops what cannot stand in the header of a commit.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.TrimSpace(s)
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
func (c Commits) Log(ctx context.Context, head agency.OID, opts LogOptions) ([]Commit, error) {
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
	out, err := c.dir.run(ctx, args...)
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

// Write writes a commit. The message is taken as it is, apart from bytes
// that are not UTF-8 and NUL. Nothing is signed and no hook runs.
func (c Commits) Write(ctx context.Context, tree agency.OID, parents []agency.OID, message string, by Identity) (agency.OID, error) {
	return c.commit(ctx, "--no-gpg-sign", tree, parents, message, by, nil, nil)
}

func (c Commits) commit(ctx context.Context, sign string, tree agency.OID, parents []agency.OID, message string, by Identity, config, env []string) (agency.OID, error) {
	if err := checkOID(append([]agency.OID{tree}, parents...)...); err != nil {
		return "", err
	}
	args := []string{"commit-tree", sign}
	for _, p := range parents {
		args = append(args, "-p", string(p))
	}
	message = strings.ReplaceAll(strings.ToValidUTF8(message, "?"), "\x00", "")
	out, err := c.dir.program.run(ctx, command{
		dir: &c.dir, args: append(args, string(tree)), env: append(by.env(c.dir.program.opts.Now()), env...),
		stdin: strings.NewReader(message), config: append([]string{"i18n.commitEncoding=UTF-8"}, config...),
	})
	if err != nil {
		return "", err
	}
	id, err := parseOID(out)
	if err == nil {
		c.dir.wrote("commit", id, tree)
	}
	return id, err
}

// MergeBase is the best common ancestor of two commits, "" where there is
// none.
func (c Commits) MergeBase(ctx context.Context, a, b agency.OID) (agency.OID, error) {
	if err := checkOID(a, b); err != nil {
		return "", err
	}
	out, err := c.dir.run(ctx, "merge-base", string(a), string(b))
	if f := (*Failure)(nil); errors.As(err, &f) && f.Status == 1 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return parseOID(out)
}

// IsAncestor tells whether a is reachable from b.
func (c Commits) IsAncestor(ctx context.Context, a, b agency.OID) (bool, error) {
	if err := checkOID(a, b); err != nil {
		return false, err
	}
	_, err := c.dir.run(ctx, "merge-base", "--is-ancestor", string(a), string(b))
	if f := (*Failure)(nil); errors.As(err, &f) && f.Status == 1 {
		return false, nil
	}
	return err == nil, err
}

// Unsigned is a commit that was not made because it could not be signed.
type Unsigned struct {
	By  Signing
	Err error
}

func (u *Unsigned) Error() string {
	with := u.By.String()
	if u.By.Program != "" {
		with += ", by " + u.By.Program
	}
	return fmt.Sprintf("the commit cannot be signed (%s): %s", with, lastLines(u.Err.Error(), 3))
}

func (u *Unsigned) Unwrap() error { return u.Err }

// signTimeout bounds how long a signer may ask its person for a passphrase.
const signTimeout = 2 * time.Minute

// WriteSigned is Write with a signature of the user's own signer, which
// runs outside of any sandbox with the user's environment. Where it fails there
// is no commit and the error is *Unsigned.
func (c Commits) WriteSigned(ctx context.Context, tree agency.OID, parents []agency.OID, message string, by Identity, s Signing) (agency.OID, error) {
	config := []string{"gpg.format=" + s.Format}
	if s.Key != "" {
		config = append(config, "user.signingKey="+s.Key)
	}
	program := s.Program
	if program == "" {
		program = map[string]string{"openpgp": "gpg", "ssh": "ssh-keygen", "x509": "gpgsm"}[s.Format]
	}
	config = append(config, "gpg."+s.Format+".program="+program)
	if s.KeyCommand != "" {
		config = append(config, "gpg.ssh.defaultKeyCommand="+s.KeyCommand)
	}
	short, cancel := context.WithTimeout(ctx, signTimeout)
	defer cancel()
	id, err := c.commit(short, "-S", tree, parents, message, by, config, c.dir.program.signerEnv())
	if err != nil && ctx.Err() == nil {
		if errors.Is(short.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s", signTimeout)
		}
		return "", &Unsigned{By: s, Err: err}
	}
	return id, err
}

// signerEnv is what a signer needs of the user's environment to find its keys,
// its agent, and the person to ask.
func (g *Program) signerEnv() []string {
	var env []string
	for _, name := range []string{
		"HOME", "USER", "LOGNAME", "GNUPGHOME", "GPG_TTY", "SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY",
		"XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR",
	} {
		if v := g.opts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	if path := g.opts.Getenv("PATH"); path != "" {
		env = append(env, "PATH="+path+string(os.PathListSeparator)+"/usr/bin:/bin")
	}
	return env
}

// lastLines are the last lines of what a command said that are not empty.
func lastLines(s string, n int) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}

// Merge is the outcome of a three-way merge. Conflicts are the paths that do
// not merge; Tree then holds them with conflict marks.
type Merge struct {
	Tree      agency.OID
	Conflicts []string
	// FileConflicts are the conflicts as three files each, where nothing but the
	// content of files conflicts; nil otherwise.
	FileConflicts []FileConflict
}

// FileConflict is a file that both sides of a merge changed.
type FileConflict struct{ Base, Ours, Theirs Entry }

// Merge merges two commits without an index or files. The base is the one
// that git finds in their history.
func (c Commits) Merge(ctx context.Context, ours, theirs agency.OID) (Merge, error) {
	if err := checkOID(ours, theirs); err != nil {
		return Merge{}, err
	}
	out, err := c.dir.run(ctx, "merge-tree", "--write-tree", "-z", "--messages", string(ours), string(theirs))
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
	if onlyFileConflicts(rest) {
		m.FileConflicts = fileConflicts(stages)
	}
	return m, nil
}

// parseStage reads an entry as indexes and merges list it.
func parseStage(rec string) (Entry, error) {
	meta, path, _ := strings.Cut(rec, "\t")
	mode, rest, _ := strings.Cut(meta, " ")
	id, stage, _ := strings.Cut(rest, " ")
	m, modeErr := strconv.ParseUint(mode, 8, 32)
	n, stageErr := strconv.Atoi(stage)
	if modeErr != nil || stageErr != nil || path == "" {
		return Entry{}, agency.Errorf(agency.KindInternal, "git wrote the entry %q", rec)
	}
	return Entry{Mode: uint32(m), ID: agency.OID(id), Stage: n, Path: path}, nil
}

// onlyContents reads the messages: a count of paths, the paths, the message's
// type and its text, each ended by NUL.
func onlyFileConflicts(messages string) bool {
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

// fileConflicts pairs the stages; nil where any path lacks one.
func fileConflicts(stages []Entry) []FileConflict {
	var out []FileConflict
	for i := 0; i < len(stages); i += 3 {
		if i+3 > len(stages) {
			return nil
		}
		c := FileConflict{stages[i], stages[i+1], stages[i+2]}
		if c.Base.Stage != 1 || c.Ours.Stage != 2 || c.Theirs.Stage != 3 || c.Base.Path != c.Ours.Path || c.Base.Path != c.Theirs.Path {
			return nil
		}
		out = append(out, c)
	}
	return out
}
