package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"agency/internal/agency"
)

type writeFileArgs struct {
	Path    string `json:"path" jsonschema_description:"File, relative to the repository's root. Missing folders are made."`
	Content string `json:"content" jsonschema_description:"The whole new content."`
}

func writeFile() Tool {
	return define("write_file", Write, func(ctx context.Context, env *Env, a writeFileArgs) (Result, error) {
		rel, mode, existed, err := env.Files.target(a.Path)
		if err != nil {
			return Result{}, err
		}
		if len(a.Content) > maxFile {
			return refuse("the content has " + size(int64(len(a.Content))) + ", the most is " + size(maxFile)), nil
		}
		if err := env.Files.mayWrite(ctx, rel); err != nil {
			return Result{}, err
		}
		if existed && strings.Contains(a.Content, agency.Redacted) {
			old, err := env.Files.readAll(rel)
			if err != nil {
				return Result{}, says(err, a.Path)
			}
			if env.overwrites(string(old), "", a.Content) {
				return notOver(a.Path), nil
			}
		}
		if err := env.Files.save(rel, []byte(a.Content), mode); err != nil {
			return Result{}, err
		}
		verb := "created"
		if existed {
			verb = "replaced"
		}
		return wrote(rel, fmt.Sprintf("%s %s (%s, %s)", verb, rel, agency.Things(countLines(a.Content), "line", "lines"), size(int64(len(a.Content))))), nil
	})
}

// target is where a write goes, and the mode that it keeps.
func (f *Files) target(p string) (rel string, mode fs.FileMode, existed bool, err error) {
	rel, info, err := f.stat(p)
	switch {
	case err == nil && info.IsDir():
		return "", 0, false, agency.Errorf(agency.KindInvalid, "%s is a folder", p)
	case err == nil:
		return rel, info.Mode(), true, nil
	case agency.KindOf(err) == agency.KindNotFound && rel != "":
		return rel, 0o644, false, f.parentIsFolder(rel, p)
	}
	return "", 0, false, err
}

// parentIsFolder refuses a path below a file.
func (f *Files) parentIsFolder(rel, p string) error {
	for dir := rel; ; {
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			return nil
		}
		dir = dir[:i]
		info, err := f.root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return says(err, p)
		}
		if !info.IsDir() {
			return agency.Errorf(agency.KindInvalid, "%s: %s is a file, not a folder", p, dir)
		}
		return nil
	}
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
