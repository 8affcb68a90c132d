package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The release that the tests try, and the same one made once more somewhere else.
var made, again release

// release is what make release has made, of what is checked out, for one platform.
type release struct {
	dir     string // where it was made
	version string
}

func (r release) dist() string { return filepath.Join(r.dir, "bin", "dist") }

// file is one that is named after the version.
func (r release) file(pattern string) string {
	return filepath.Join(r.dist(), fmt.Sprintf(pattern, r.version))
}

func TestMain(m *testing.M) {
	code, err := withReleases(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withReleases makes both, runs the tests and leaves nothing behind.
func withReleases(run func() int) (int, error) {
	dir, err := os.MkdirTemp("", "dwatch-release-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	commit, err := checkedOut()
	if err != nil {
		return 0, err
	}
	for i, r := range []*release{&made, &again} {
		r.dir = filepath.Join(dir, strings.Repeat("further/", i)+"dwatch")
		remove, err := r.checkOut(commit)
		if err != nil {
			return 0, err
		}
		defer remove()
		if err := r.make(); err != nil {
			return 0, err
		}
	}
	return run(), nil
}

// checkedOut is a commit of what is checked out here, with what was changed of it and not
// yet committed. A file that git does not know is not in it.
func checkedOut() (string, error) {
	commit, err := output("../..", "git", "stash", "create")
	if err == nil && commit == "" {
		commit, err = output("../..", "git", "rev-parse", "HEAD")
	}
	return commit, err
}

// checkOut checks out a commit in r.dir as a git worktree. remove removes it.
func (r *release) checkOut(commit string) (remove func(), err error) {
	if _, err := output("../..", "git", "worktree", "add", "--detach", r.dir, commit); err != nil {
		return nil, err
	}
	return func() { _, _ = output("../..", "git", "worktree", "remove", "--force", r.dir) }, nil
}

func (r *release) make() error {
	cmd := exec.Command("make", "release")
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "RELEASE_FOR_TESTS=1", "RELEASE_URL=https://example.com/you/dwatch", "MAKEFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make release: %w\n%s", err, out)
	}
	archives, err := filepath.Glob(filepath.Join(r.dist(), "dwatch_*_linux_amd64.tar.gz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("archives %q: %w", archives, err)
	}
	r.version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archives[0]), "dwatch_"), "_linux_amd64.tar.gz")
	return nil
}

// output is what a command prints, without space around it.
func output(dir, name string, args ...string) (string, error) {
	var out, wrong bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &wrong
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, wrong.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// mustRun is output for a test.
func mustRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := output("", name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// need skips a test where a command is not there.
func need(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("there is no %s", name)
	}
}

// wantVersion: the program says which release it is of.
func wantVersion(t *testing.T, said string) {
	t.Helper()
	if !strings.HasPrefix(said, "dwatch v"+made.version+" (client-go v") {
		t.Errorf("version %q, want that of %s", said, made.version)
	}
}

// wantFiles: each is there and not empty.
func wantFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
