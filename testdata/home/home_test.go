package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestImports checks that only import paths are rewritten.
func TestImports(t *testing.T) {
	m := move{"dwatch", "example.com/you/dwatch"}
	got, err := m.imports([]byte(`package p

import (
	"dwatch/cli"
	. "dwatch"
	"dwatches/other"
)

const agent = "dwatch/cli"
`))
	want := `package p

import (
	"example.com/you/dwatch/cli"
	. "example.com/you/dwatch"
	"dwatches/other"
)

const agent = "dwatch/cli"
`
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestGoMod(t *testing.T) {
	m := move{"dwatch", "example.com/you/dwatch"}
	got, _ := m.goMod([]byte("module dwatch/testdata/x\n\nrequire dwatch v0.0.0\n\nreplace dwatch => ../..\n"))
	if want := "module example.com/you/dwatch/testdata/x\n\nrequire example.com/you/dwatch v0.0.0\n\nreplace example.com/you/dwatch => ../..\n"; string(got) != want {
		t.Errorf("%s", got)
	}
}

// TestHome renames the module in a copy of all tracked files, and checks that this is one commit and that the result builds.
func TestHome(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds all of dwatch")
	}
	dir := filepath.Join(t.TempDir(), "copy")
	in := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a.invalid")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	in("../..", "git", "clone", "-q", ".", dir)
	before := in(dir, "git", "rev-parse", "HEAD")
	in(dir, "make", "home", "MODULE=example.com/you/dwatch")
	if parent := in(dir, "git", "rev-parse", "HEAD^"); parent != before {
		t.Errorf("more than one commit: %s, want %s", parent, before)
	}
	if left := in(dir, "git", "status", "--porcelain"); left != "" {
		t.Errorf("not committed: %s", left)
	}
	// The build cache has none of dwatch's packages under the new path, so they are compiled without optimization. With
	// -trimpath, cache entries do not depend on the directory, and make build uses the same ones for dependencies.
	in(dir, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-gcflags", "example.com/you/dwatch/...=-l -dwarf=false", "-ldflags", "-s -w", "-o", "dwatch", ".")
	in(dir, "go", "list", "./...", "./testdata/program", "./testdata/bench")
	in(filepath.Join(dir, "testdata/release"), "go", "list", ".")
	if said := in(dir, "./dwatch", "--version"); !strings.HasPrefix(said, "dwatch ") {
		t.Error(said)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || !strings.Contains(string(readme), "go install example.com/you/dwatch@latest") {
		t.Errorf("README does not say how to get it: %v", err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "docs/tasks/use-as-a-go-library.md"))
	if err != nil || !strings.Contains(string(page), "go get example.com/you/dwatch@latest") || !strings.Contains(string(page), "\t\"example.com/you/dwatch/watcher\"\n") {
		t.Errorf("the page about the library does not say how to get it: %v", err)
	}
	in(dir, "test", "-z", in(dir, "gofmt", "-l", "cli", "watcher", "output", "mapper", "main.go"))
}
