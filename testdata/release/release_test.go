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

// made is the release under test. again is the same release, built in another directory.
var made, again release

// release is the result of make release for the checked-out commit and one platform.
type release struct {
	dir     string // root of its git worktree
	version string
}

func (r release) dist() string { return filepath.Join(r.dir, "bin", "dist") }

// file returns the path of a file whose name contains the version.
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

// withReleases builds both releases, runs the tests and cleans up.
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

// checkedOut returns a commit with the checked-out files, including uncommitted changes, but without untracked files.
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

// output returns what a command prints, without surrounding space.
func output(dir, name string, args ...string) (string, error) {
	var out, wrong bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &wrong
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, wrong.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// mustRun is like output, and ends the test on errors.
func mustRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := output("", name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// need skips a test if a command is missing.
func need(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
}

// wantVersion checks that the output of dwatch --version has the version of the release.
func wantVersion(t *testing.T, said string) {
	t.Helper()
	if !strings.HasPrefix(said, "dwatch v"+made.version+" (client-go v") {
		t.Errorf("version %q, want %s", said, made.version)
	}
}

// wantFiles checks that all files exist and are not empty.
func wantFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
