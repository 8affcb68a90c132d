package cli

import (
	"context"
	"errors"

	"dwatch/cli/fail"
)

// errDifferent ends dwatch diff --exit-code when it has printed differences. It is not reported: they have been.
var errDifferent = errors.New("there are differences")

// diffExitCode maps the result of a comparison to the exit codes of kubectl diff: 0 if nothing differs, 1 if something
// differs, and more than 1 if the comparison failed.
type diffExitCode struct {
	runner
	of *watching
}

func (d *diffExitCode) run(ctx context.Context, c *console) error {
	err := d.runner.run(ctx, c)
	switch {
	case err == nil && d.of.printed != nil && d.of.printed() > 0:
		return fail.WithExitCode(fail.ExitDifferent, errDifferent)
	case err != nil && !isReaderGone(err) && fail.ExitCode(err) == fail.ExitFailed:
		return fail.WithExitCode(fail.ExitUsage, err)
	}
	return err
}
