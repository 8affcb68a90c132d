package upgrade

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dwatch/testdata/testenv"
)

var (
	cluster *testenv.Cluster
	dir     string // directory of the programs
	now     string // path of the program built from the working tree
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if dir, err = os.MkdirTemp("", "dwatch-upgrade-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	now = filepath.Join(dir, "now")
	if err := testenv.Build(now); err != nil {
		return 0, err
	}
	return testenv.Main(m, &cluster), nil
}

// before returns the program of the last tag before HEAD, or of commit if there is no tag.
func before(t *testing.T, commit string) string {
	t.Helper()
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if tag, err := output(root, "git", "describe", "--tags", "--abbrev=0", "HEAD^"); err == nil {
		commit = tag
	}
	return built(t, commit)
}

// built returns the program of a commit. It builds it if necessary, and skips the test if the repository lacks the commit.
func built(t *testing.T, commit string) string {
	t.Helper()
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := output(root, "git", "cat-file", "-e", commit+"^{tree}"); err != nil {
		t.Skipf("the repository has no commit %s, as a shallow clone: git fetch --unshallow gets it", commit)
	}
	program := filepath.Join(dir, strings.NewReplacer("/", "-", "^", "-").Replace(commit))
	if _, err := os.Stat(program); err == nil {
		return program
	}
	source := program + "-source"
	if _, err := output(root, "git", "worktree", "add", "--detach", source, commit); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := output(root, "git", "worktree", "remove", "--force", source); err != nil {
			t.Error(err)
		}
	}()
	build := exec.Command("go", "build", "-trimpath", "-tags", "kafka", "-ldflags", "-s -w", "-o", program, ".")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("the other version is %s", commit)
	return program
}

// lastChange returns the parent of the last commit that changed how often pattern matches in file. A renamed constant is no change.
func lastChange(t *testing.T, pattern, file string) string {
	t.Helper()
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	commit, err := output(root, "git", "log", "-1", "--format=%H", "--pickaxe-regex", "-S", pattern, "--", file)
	if err != nil {
		t.Skipf("there is no history: %v", err)
	}
	if commit == "" {
		t.Skipf("the history does not go back to where %s changed", file)
	}
	return commit + "^"
}

// output returns the stdout of a command without surrounding white space.
func output(dir, name string, args ...string) (string, error) {
	var out, wrong bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &wrong
	err := cmd.Run()
	if err != nil {
		err = errors.Join(fmt.Errorf("%s %q: %w", name, args, err), errors.New(wrong.String()))
	}
	return strings.TrimSpace(out.String()), err
}
