package program

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"dwatch/testdata/readme"
)

// TestDemo runs what make demo runs.
func TestDemo(t *testing.T) {
	t.Parallel()
	demo := filepath.Join(t.TempDir(), "demo")
	args := []string{"build", "-o", demo}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "dwatch/testdata/demo")...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, demo)
	cmd.Dir = readme.Path(t, ".")                                         // as make does
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it has things to end
	cmd.WaitDelay = patience
	// Lines are cut to the width of the screen.
	cmd.Env = append(os.Environ(), "DWATCH="+filepath.Join(binaries, "dwatch"), "COLUMNS=1000000")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(errors.Join(err, context.Cause(ctx)))
	}
	for _, want := range []string{
		`"type":"ADDED","initial":true,.*"kind":"CronTab"`,
		`"type":"MODIFIED",.*"kind":"Deployment".*"image":"nginx:1\.28".*"updatedReplicas":2,`,
		`"type":"MODIFIED",.*"kind":"CronTab".*"lastResult":"Succeeded"`,
		`"type":"DELETED",.*"kind":"CronTab"`,
		`"type":"DELETED",.*"kind":"Deployment"`,
		`(?m)^(MODIFIED +Deployment +web +nginx:1\.28 +4 +4$|# jq is not installed)`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("the demo does not show %s", want)
		}
	}
}
