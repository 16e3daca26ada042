package tool

import (
	"context"

	"agency/internal/agency"
)

type deleteFileArgs struct {
	Path string `json:"path" jsonschema_description:"File to delete, relative to the repository's root."`
}

func deleteFile() Tool {
	return define("delete_file", Write, func(ctx context.Context, env *Env, a deleteFileArgs) (Result, error) {
		rel, err := env.Files.Rel(a.Path)
		if err != nil {
			return Result{}, err
		}
		if err := env.Files.remove(ctx, rel, a.Path); err != nil {
			return Result{}, err
		}
		return wrote(rel, "deleted "+rel), nil
	})
}

// remove deletes a file, or a link itself and never what it leads to.
func (f *Files) remove(ctx context.Context, rel, shown string) error {
	// The folder is resolved, the name is not: the link is what is meant.
	dir, name := split(rel)
	dir, err := f.Resolve(dir)
	if err != nil {
		return err
	}
	rel = join(dir, name)
	info, err := f.root.Lstat(rel)
	if err != nil {
		return says(err, shown)
	}
	if info.IsDir() {
		return agency.Errorf(agency.KindInvalid, "%s is a folder; delete its files one by one, or use run_command", shown)
	}
	if err := f.mayWrite(ctx, rel); err != nil {
		return err
	}
	if err := f.root.Remove(rel); err != nil {
		return says(err, shown)
	}
	return nil
}
