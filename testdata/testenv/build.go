package testenv

import (
	"fmt"
	"os"
	"os/exec"

	"dwatch/testdata/race"
)

// Build builds dwatch and writes the program to output. flags are passed to go build. The program is built as in a
// release, because that starts faster, or with the race detector if the test runs with it. Without flags, Build
// links to the program in $TEST_DWATCH if that is set: make test builds it once for all tests.
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
