package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/codebase"
	"agency/internal/tool"
)

type applyPatchArgs struct {
	Patch string `json:"patch" jsonschema_description:"The patch, from *** Begin Patch to *** End Patch."`
}

// maxSections bounds how many files one patch changes.
const maxSections = 200

func applyPatch() tool.Tool {
	return tool.Define(texts, "apply_patch", tool.Write, func(ctx context.Context, env *tool.Env, a applyPatchArgs) (tool.Result, error) {
		all, err := readPatch(a.Patch)
		if err != nil {
			return tool.Fail("nothing is changed: %v", err), nil
		}
		if len(all) > maxSections {
			return tool.Refuse(fmt.Sprintf("a patch changes at most %d files", maxSections)), nil
		}
		p := patching{ctx: ctx, env: env}
		for _, s := range all {
			if res, err := p.prepare(s); err != nil || res.Failed {
				return res, err
			}
		}
		return p.carryOut()
	})
}

// patching is a patch on its way to the files: all of it is looked at before any of it is
// written.
type patching struct {
	ctx   context.Context
	env   *tool.Env
	steps []step
	said  []string
}

// step is one file that is written, or deleted.
type step struct {
	rel           string
	before, after []byte
	fresh, gone   bool // there was none; there will be none
	mode          fs.FileMode
}

func (p *patching) prepare(s section) (tool.Result, error) {
	var err error
	switch s.verb {
	case "Add":
		err = p.add(s.path, []byte(s.text), 0)
		p.said = append(p.said, "added "+s.path)
	case "Delete":
		err = p.drop(s.path)
		p.said = append(p.said, "deleted "+s.path)
	default:
		return p.update(s)
	}
	return p.unchanged(err)
}

// unchanged says of what the model can mend that nothing was done.
func (p *patching) unchanged(err error) (tool.Result, error) {
	if err == nil {
		return tool.Result{}, nil
	}
	res, err := tool.Answer(err)
	res.Text = strings.Replace(res.Text, "error: ", "error: nothing is changed: ", 1)
	return res, err
}

// add prepares a file that is new; a mode of 0 is that of new files.
func (p *patching) add(at string, text []byte, mode fs.FileMode) error {
	rel, fresh, existed, err := p.env.Files.Target(at)
	if err != nil {
		return err
	}
	if existed {
		return agency.Errorf(agency.KindInvalid, "%s is there already; use *** Update File", at)
	}
	if mode == 0 {
		mode = fresh
	}
	return p.step(step{rel: rel, after: text, mode: mode, fresh: true}, at)
}

func (p *patching) step(s step, at string) error {
	if slices.ContainsFunc(p.steps, func(o step) bool { return o.rel == s.rel }) {
		return agency.Errorf(agency.KindInvalid, "%s is changed twice, by two names", at)
	}
	if err := p.env.Files.MayWrite(p.ctx, s.rel); err != nil {
		return err
	}
	if len(s.after) > tool.MaxFile {
		return agency.Errorf(agency.KindInvalid, "%s would have %s, the most is %s", at, tool.Size(int64(len(s.after))), tool.Size(tool.MaxFile))
	}
	p.steps = append(p.steps, s)
	return nil
}

// drop prepares that a file goes. A link is not taken for what it leads to.
func (p *patching) drop(at string) error {
	t, err := p.env.Files.Load(at)
	if err != nil {
		return err
	}
	if rel, err := p.env.Files.Rel(at); err != nil || rel != t.Rel {
		return agency.Errorf(agency.KindInvalid, "%s goes through a link to %s; use delete_file", at, t.Rel)
	}
	return p.step(step{rel: t.Rel, before: t.Data, mode: t.Mode, gone: true}, at)
}

func (p *patching) update(s section) (tool.Result, error) {
	t, err := p.env.Files.Load(s.path)
	if err != nil {
		return p.unchanged(err)
	}
	after, err := s.apply(string(t.Data))
	marked := false
	for _, h := range s.hunks {
		marked = marked || strings.Contains(strings.Join(h.old(), "\n"), agency.Redacted)
	}
	switch {
	case err != nil && marked:
		return notShown(s.path), nil
	case err != nil:
		return tool.Fail("nothing is changed: %s: %v", s.path, err), nil
	case p.env.Overwrites(string(t.Data), string(t.Data), after):
		return notOver(s.path), nil
	}
	p.said = append(p.said, "updated "+s.path)
	if s.to == "" {
		return p.unchanged(p.step(step{rel: t.Rel, before: t.Data, after: []byte(after), mode: t.Mode}, s.path))
	}
	p.said[len(p.said)-1] += ", now " + s.to
	if err := p.drop(s.path); err != nil {
		return p.unchanged(err)
	}
	return p.unchanged(p.add(s.to, []byte(after), t.Mode))
}

// carryOut writes what was prepared. Where one file cannot be written, those before it
// become what they were.
func (p *patching) carryOut() (tool.Result, error) {
	for i, s := range p.steps {
		if err := p.put(s.rel, s.after, s.gone, s.mode); err != nil {
			for _, done := range p.steps[:i] {
				err = errors.Join(err, p.put(done.rel, done.before, done.fresh, done.mode))
			}
			return tool.Result{}, err
		}
	}
	var changes []codebase.FileChange
	for _, s := range p.steps {
		if !s.gone {
			changes = append(changes, codebase.FileChange{Path: s.rel, Before: s.before, After: s.after})
		}
	}
	res := tool.Wrote(p.steps[0].rel, strings.Join(p.said, "\n")+"\n"+tool.Brought(p.ctx, p.env.Files, changes...))
	for _, s := range p.steps[1:] {
		res.AlsoWrote = append(res.AlsoWrote, s.rel)
	}
	return res, nil
}

func (p *patching) put(rel string, text []byte, gone bool, mode fs.FileMode) error {
	if gone {
		return p.env.Files.Remove(p.ctx, rel, rel)
	}
	return p.env.Files.Save(rel, text, mode)
}
