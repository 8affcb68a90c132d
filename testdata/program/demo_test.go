package program

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"dwatch/testdata/race"
	"dwatch/testdata/readme"
	"dwatch/testdata/stderrlog"
)

// TestDemo builds and runs the program of make demo.
func TestDemo(t *testing.T) {
	t.Parallel()
	demo := filepath.Join(t.TempDir(), "demo")
	args := []string{"build", "-ldflags", "-s -w", "-o", demo}
	if race.Enabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "../demo")...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, demo)
	cmd.Dir = readme.Path(t, ".")                                         // as make does
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it has processes to stop
	cmd.WaitDelay = patience
	cmd.Env = append(os.Environ(), "DWATCH="+filepath.Join(binaries, "dwatch"))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(errors.Join(err, context.Cause(ctx)))
	}
	for _, want := range []string{
		`(?m)^page: http://127\.0\.0\.1:\d+/\?token=`,
		`(?m)= 1 deployment in default(, 1 not ready: deploy/web [01]/2 pods \w+)?$`, // on a busy machine
		`~ deploy/web  .*image  nginx:1\.27 → nginx:1\.28`,
		`- po/web-`,
		`~ deploy/web  spec\.replicas  2 → 3`,
		`~ ct/nightly\b`,
		`spec\.image  backup:1 → backup:2`,
		`- ct/nightly `,
		`(?m)^(MODIFIED +Deployment +web +nginx:1\.29 +1$|# jq is not installed)`,
	} {
		if !regexp.MustCompile(want).Match([]byte(stderrlog.StripTimes(string(out)))) {
			t.Errorf("the demo does not show %s", want)
		}
	}
}
