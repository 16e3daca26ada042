package land

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/workspace"
)

// HeldRef is, in the private git directory of a run, the head of its branch
// while the branch itself stays behind: somebody has it checked out, and a
// branch that moves under a checkout looks like a staged reversal there.
const HeldRef = "refs/agency/head"

// standing is where a run's branch is.
type standing struct {
	head agency.OID // of the work; "" where the branch is gone
	user agency.OID // of the branch in the user's repository
	held bool       // the head is ahead of the branch
	// apart is set where somebody has moved the branch meanwhile: what they put
	// there is not on the head.
	apart bool
}

// HeadOf is the head of a run's branch, and the git directory that has it: the
// user's, or, while it is held back because the branch is checked out, private,
// the run's own, which may be gone. "" where there is no branch.
func HeadOf(ctx context.Context, user, private git.Dir, ref string) (head agency.OID, at git.Dir, err error) {
	if _, err := os.Stat(private.GitDir); err != nil {
		head, err = user.Refs().Get(ctx, ref)
		return head, user, err
	}
	s, err := standingOf(ctx, user, private, ref)
	if s.held {
		return s.head, private, err
	}
	return s.head, user, err
}

func standingOf(ctx context.Context, user, private git.Dir, ref string) (s standing, err error) {
	if s.user, err = user.Refs().Get(ctx, ref); err != nil || s.user == "" {
		return s, err
	}
	s.head = s.user
	held, err := private.Refs().Get(ctx, HeldRef)
	if err != nil || held == "" || held == s.user {
		return s, err
	}
	in, err := private.Commits().IsAncestor(ctx, held, s.user)
	if err != nil || in { // published, and gone on from there
		return s, err
	}
	s.head, s.held = held, true
	in, err = private.Commits().IsAncestor(ctx, s.user, held)
	s.apart = !in
	return s, err
}

// publish brings the user's branch up to a head that was held back, as soon as
// nobody has it checked out.
func publish(ctx context.Context, run *workspace.Run, ref string, s standing) (standing, error) {
	if !s.held || s.apart {
		return s, nil
	}
	at, err := checkoutsOf(ctx, run, ref)
	if err != nil || len(at) > 0 {
		return s, err
	}
	if busy, err := switching(ctx, run.User()); err != nil || busy {
		return s, err
	}
	if err := run.Send(ctx, s.head, s.user); err != nil {
		return s, err
	}
	err = run.User().Refs().Update(ctx, ref, s.head, s.user, "agency: the branch was checked out", identity(run))
	if errors.As(err, new(*git.Moved)) || errors.As(err, new(*git.Vanished)) {
		return s, nil // the next one looks again
	}
	if err != nil {
		return s, err
	}
	if back, err := takenBack(ctx, run, ref, s.user, s.head); err != nil || back {
		return s, err
	}
	s.user, s.held = s.head, false
	return s, run.Dir().Refs().Update(ctx, HeldRef, "", s.head, "agency: published", identity(run))
}

// checkoutsOf are the worktrees that have a branch checked out.
func checkoutsOf(ctx context.Context, run *workspace.Run, ref string) (at []string, err error) {
	trees, err := run.User().Refs().Worktrees(ctx)
	for _, w := range trees {
		if w.Branch == ref && !w.Gone && !w.Bare {
			at = append(at, w.Path)
		}
	}
	return at, err
}

// takenBack looks again after the branch moved from was to is: a checkout that
// was made of it in that moment still has the files of was. Then the branch goes
// back, and no file is touched.
func takenBack(ctx context.Context, run *workspace.Run, ref string, was, is agency.OID) (back bool, err error) {
	at, err := checkoutsOf(ctx, run, ref)
	user := checkouts{run: run}
	for _, path := range at {
		loc, found := git.Find(path)
		if found != nil {
			continue
		}
		from, _, err := user.behind(ctx, loc, intent{Ref: ref, Old: was, New: is})
		if err != nil {
			return false, err
		}
		if from == was {
			err := run.User().Refs().Update(ctx, ref, was, is, "agency: back, it is checked out", identity(run))
			if errors.As(err, new(*git.Moved)) {
				return false, nil // somebody has gone on from it
			}
			return err == nil, err
		}
	}
	return false, err
}

// heldWords say where a branch that is held back stays, and until when.
func heldWords(branch string, at agency.OID, where []string) string {
	in := ""
	if len(where) > 0 {
		in = " in " + strings.Join(where, ", ")
	}
	if in == "" {
		return fmt.Sprintf("a git is at work on the checkout, so that %s stays at %.10s; what is integrated goes on beside it, and the branch follows", branch, at)
	}
	return fmt.Sprintf("%s is checked out%s and stays at %.10s; what is integrated goes on beside it, and the branch follows when nobody has it checked out", branch, in, at)
}

// held is why the user's branch is not at the head, for people; "" where it is.
func held(ctx context.Context, run *workspace.Run, ref, branch string, s standing) (string, error) {
	switch {
	case !s.held:
		return "", nil
	case s.apart:
		return fmt.Sprintf("%s was moved to %.10s while it was checked out: what is there is not part of the work; mend: git branch %[1]s-own %[2]s && git branch -f %[1]s %[3]s", branch, s.user, s.head), nil
	}
	at, err := checkoutsOf(ctx, run, ref)
	return heldWords(branch, s.user, at), err
}

// Holds refuses a commit that is not the landing of a contract with those of
// the others before it: KindInvalid names what is missing. It looks at git
// alone.
func Holds(ctx context.Context, run *workspace.Run, id agency.RunID, commit agency.OID, contract agency.ContractID, others []agency.ContractID) error {
	commits, err := run.Dir().Commits().Log(ctx, commit, git.LogOptions{Not: []agency.OID{run.Base()}})
	if err != nil {
		return err
	}
	landed := map[agency.ContractID]bool{}
	for i, c := range commits {
		of := agency.ContractID(c.Trailer(trailerContract))
		if c.Trailer(trailerRun) != string(id) || of == "" {
			continue
		}
		if i == 0 && of != contract {
			break
		}
		landed[of] = true
	}
	for _, want := range append([]agency.ContractID{contract}, others...) {
		if !landed[want] {
			return agency.Errorf(agency.KindInvalid, "commit %s does not hold what contract %s landed", commit, want)
		}
	}
	return nil
}
