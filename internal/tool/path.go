package tool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/code/lsp"
	"agency/internal/codebase"
)

// Files are the files of a workspace. Everything goes through an os.Root, so
// that no link and no race leads outside; on top of it paths are resolved here
// once, so that what is refused is refused with the reason.
type Files struct {
	root  *os.Root
	at    string
	guard func(ctx context.Context, rel string) error
	// skills is the folder of the user's skills; nil: none.
	skills *os.Root
	// Symbols answers for the symbols of the files. It is set before the first call.
	Symbols *codebase.Engine
	// Servers are the language servers that see the files; nil: none.
	Servers *lsp.Workspace
	// Embedder finds code by its meaning; nil: by words alone.
	Embedder codebase.Embedder
}

// SetGuard sets what is asked before a file is written or deleted, with its
// path below the root; its error refuses the call. Set it before the first
// call.
func (f *Files) SetGuard(guard func(ctx context.Context, rel string) error) { f.guard = guard }

// MayWrite asks the guard.
func (f *Files) MayWrite(ctx context.Context, rel string) error {
	if f.guard == nil {
		return nil
	}
	return f.guard(ctx, rel)
}

// OpenFiles opens the checkout at root. At is the path at which the agent sees
// it: absolute paths below it are accepted.
func OpenFiles(root, at string) (*Files, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	return &Files{root: r, at: filepath.ToSlash(filepath.Clean(at))}, nil
}

// Close frees the folder.
func (f *Files) Close() error {
	if f.skills != nil {
		return errors.Join(f.skills.Close(), f.root.Close())
	}
	return f.root.Close()
}

// Rel checks a path as a model wrote it, without looking at the disk: relative
// to the repository's root, "." for the root itself.
func (f *Files) Rel(p string) (string, error) {
	if p == "" || p == "." {
		return ".", nil
	}
	if strings.ContainsRune(p, 0) {
		return "", denied("path %s contains a NUL byte", QuoteName(p))
	}
	if len(p) > 4096 {
		return "", denied("path %s is too long", QuoteName(p))
	}
	if strings.HasPrefix(p, "/") {
		clean := path.Clean(p)
		if clean == f.at {
			return ".", nil
		}
		rest, below := strings.CutPrefix(clean, strings.TrimSuffix(f.at, "/")+"/")
		if !below {
			return "", denied("path %s is outside of the repository %s", QuoteName(p), f.at)
		}
		p = rest
	}
	clean := path.Clean(p)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", denied("path %s leads out of the repository", QuoteName(p))
	}
	return clean, checkNames(p, clean)
}

// checkNames refuses what is, or what some file system takes for, a git
// directory, at any depth.
func checkNames(shown, clean string) error {
	for name := range strings.SplitSeq(clean, "/") {
		if GitName(name) {
			return denied("path %s is inside of %s, which is not yours to read or write", QuoteName(shown), name)
		}
	}
	return nil
}

// GitName tells whether a name is .git on any file system: case, trailing dots
// and spaces, the short name and ignorable letters do not make another name.
func GitName(name string) bool {
	name, _, _ = strings.Cut(name, ":") // a stream of NTFS
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1 // HFS+ ignores these
		}
		return r
	}, name)
	plain = strings.TrimRight(plain, ". ")
	return strings.EqualFold(plain, ".git") || strings.EqualFold(plain, "git~1")
}

// maxLinks is how many symbolic links one path may go through.
const maxLinks = 32

// Resolve follows the links of a path inside of the repository and gives the
// path of what is really meant; the last names need not exist. A link that is
// absolute, leads out, into .git or nowhere is refused.
func (f *Files) Resolve(p string) (string, error) {
	rel, err := f.Rel(p)
	if err != nil || rel == "." {
		return rel, err
	}
	done, rest, links := "", strings.Split(rel, "/"), 0
	linked := 0 // how many of rest come from a link: these must exist
	for len(rest) > 0 {
		name, ofLink := rest[0], linked > 0
		rest, linked = rest[1:], max(0, linked-1)
		next := path.Join(done, name)
		if next == ".." || strings.HasPrefix(next, "../") {
			return "", denied("path %s leads out of the repository", QuoteName(p))
		}
		info, err := f.root.Lstat(orDot(next))
		if errors.Is(err, fs.ErrNotExist) {
			if ofLink {
				return "", denied("path %s goes through a link to %s, which does not exist", QuoteName(p), next)
			}
			return path.Join(append([]string{next}, rest...)...), nil
		}
		if err != nil {
			return "", Says(err, p)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", denied("path %s goes through too many links", QuoteName(p))
		}
		target, err := f.root.Readlink(next)
		if err != nil {
			return "", Says(err, p)
		}
		if path.IsAbs(target) || filepath.IsAbs(target) {
			return "", denied("path %s goes through an absolute link to %s", QuoteName(p), QuoteName(target))
		}
		if err := checkNames(p, filepath.ToSlash(target)); err != nil {
			return "", err
		}
		names := strings.Split(filepath.ToSlash(target), "/")
		rest, linked = append(names, rest...), linked+len(names)
	}
	return orDot(done), checkNames(p, done)
}

func orDot(p string) string {
	if p == "" {
		return "."
	}
	return p
}

func denied(format string, args ...any) error {
	return agency.Errorf(agency.KindDenied, format, args...)
}

// Says puts an error of the file system into words about the path that the
// model used, without the host's own paths.
func Says(err error, p string) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return agency.Errorf(agency.KindNotFound, "%s does not exist", p)
	case errors.Is(err, fs.ErrPermission):
		return denied("%s: permission denied", p)
	}
	if disk := diskError(err); disk != nil {
		return disk
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	var linkErr *os.LinkError
	if errors.As(err, &linkErr) {
		err = linkErr.Err
	}
	return agency.Errorf(agency.KindInvalid, "%s: %w", p, err)
}
