package check

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/sandbox"
	"agency/internal/store"
)

// plainFlags are the flags of `go test` that change nothing about which
// packages there are and what they import.
var plainFlags = []string{
	"v", "race", "count", "short", "timeout", "shuffle", "cover", "covermode", "coverprofile", "failfast", "parallel", "p", "vet", "cpu", "json",
	"fullpath",
}

// GoList makes of a test line that is one plain `go test` the line that lists
// its packages in a format (go help list). False where the line is anything
// else, or has a flag that changes which files count.
func GoList(line, format string) (string, bool) {
	calls := goTests(line)
	if len(calls) != 1 || calls[0].selects || len(calls[0].packages) == 0 {
		return "", false
	}
	c := calls[0]
	var pkgs []string
	for _, s := range c.packages {
		pkgs = append(pkgs, line[s.from:s.to])
	}
	for _, w := range strings.Fields(line[c.after:c.end]) {
		if name, isFlag := flagName(w); isFlag && !slices.Contains(plainFlags, name) {
			return "", false
		}
	}
	return line[:c.after-len("test")] + "list -e -f " + quote(format) + " " + strings.Join(pkgs, " ") + line[c.end:], true
}

// Output is the standard output of a command that only asks, such as `go list`:
// no receipt is kept of it. False where it failed or wrote more than is kept.
func (c *Checker) Output(ctx context.Context, s Subject, line string, timeout time.Duration) ([]byte, bool, error) {
	var out answer
	spec, err := c.spec(ctx, s, Command{Line: line, Timeout: timeout}, line)
	spec.Stdout = &out
	if err != nil {
		return nil, false, err
	}
	res, err := c.Exec(ctx, spec)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", line, err)
	}
	if res.Cause == sandbox.CauseCancelled {
		if err := context.Cause(ctx); err != nil {
			return nil, false, err
		}
	}
	return out.text, res.Cause == sandbox.CauseExited && res.ExitCode == 0 && res.StdoutErr == nil, nil
}

// Took is how long a command took when it last came to its end, on whatever tree
// and in whatever world; zero where it has not yet.
func (c *Checker) Took(ctx context.Context, cmd Command) (time.Duration, error) {
	return c.took(ctx, cmd, "")
}

// TookPlain is how long it took where no lines were measured in passing: on
// anything but a claim.
func (c *Checker) TookPlain(ctx context.Context, cmd Command) (time.Duration, error) {
	return c.took(ctx, cmd, StageClaim)
}

func (c *Checker) took(ctx context.Context, cmd Command, but Stage) (time.Duration, error) {
	var found []agency.Receipt
	err := c.o.DB.Read(ctx, func(q *store.Snapshot) error {
		rows, err := q.Query(selectReceipt+` WHERE command = ? AND stage != ? AND reusable = 1 AND copy_of = ''
			ORDER BY at DESC, n DESC LIMIT 1`, cmd.Line, string(but))
		if err != nil {
			return err
		}
		found, err = scanAll(rows, q)
		return err
	})
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return time.Duration(found[0].Duration * float64(time.Second)), nil
}

// Lasted is how long these commands took together when each of them last came
// to its own end in a run; what has not counts nothing.
func Lasted(q store.Querier, run agency.RunID, lines []string) (time.Duration, error) {
	var sum float64
	for _, line := range lines {
		var took float64
		err := q.QueryRow(`SELECT duration FROM receipts WHERE run_id = ? AND command = ? AND reusable = 1 AND copy_of = ''
			ORDER BY n DESC LIMIT 1`, string(run), line).Scan(&took)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, err
		}
		sum += took
	}
	return time.Duration(sum * float64(time.Second)), nil
}
