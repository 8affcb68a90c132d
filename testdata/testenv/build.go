package testenv

import (
	"fmt"
	"os"
	"os/exec"

	"dwatch/testdata/race"
)

// Build builds dwatch to output as it is released, which starts in less time than what go build makes by
// default, or with the race detector if the test has it. More flags are those of go build. Without any it is
// what $TEST_DWATCH names: make test builds it once for all its tests.
func Build(output string, flags ...string) error {
	if built := os.Getenv("TEST_DWATCH"); built != "" && len(flags) == 0 {
		return os.Symlink(built, output)
	}
	root, err := ModuleRoot()
	if err != nil {
		return err
	}
	flags = append([]string{"build", "-tags", "kafka", "-ldflags", "-s -w", "-o", output}, flags...)
	env := os.Environ()
	if race.Enabled {
		flags = append(flags, "-race")
	} else {
		flags, env = append(flags, "-trimpath"), append(env, "CGO_ENABLED=0")
	}
	build := exec.Command("go", append(flags, ".")...)
	build.Dir, build.Env = root, env
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
