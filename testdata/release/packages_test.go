package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sassoftware/go-rpmutils"
)

// TestArchive checks that the unpacked program runs without any other file.
func TestArchive(t *testing.T) {
	need(t, "tar")
	dir := t.TempDir()
	mustRun(t, "tar", "-xzf", made.file("dwatch_%s_linux_amd64.tar.gz"), "-C", dir)
	program := filepath.Join(dir, "dwatch")
	wantVersion(t, mustRun(t, program, "--version"))
	wantFiles(t, dir, "LICENSE", "README.md", "CHANGELOG.md", "docs/README.md", "man/dwatch.1", "man/dwatch-live.1",
		"completions/dwatch.bash", "completions/_dwatch", "completions/dwatch.fish", "completions/dwatch.ps1")
	checkLinks(t, dir)
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); len(libraries) > 0 {
		t.Errorf("dwatch needs the libraries %q, %v", libraries, err)
	}
}

// pageLink matches a link or an image of a Markdown page that leads to a file.
var pageLink = regexp.MustCompile(`\]\(([^)#\s:]+)(?:#[^)]*)?\)`)

// checkLinks checks that every file to which the pages in dir link is in dir, too.
func checkLinks(t *testing.T, dir string) {
	t.Helper()
	links := 0
	err := filepath.WalkDir(dir, func(page string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(page) != ".md" {
			return err
		}
		text, err := os.ReadFile(page)
		for _, link := range pageLink.FindAllSubmatch(text, -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), string(link[1]))); err != nil {
				t.Errorf("%s links to a file that is not in the archive: %v", strings.TrimPrefix(page, dir), err)
			}
		}
		return err
	})
	if err != nil || links < 100 {
		t.Errorf("%v, got %d links, want at least 100", err, links)
	}
}

// TestChart checks that the chart has the files of its directory, and the version of the release.
func TestChart(t *testing.T) {
	need(t, "tar")
	dir := t.TempDir()
	mustRun(t, "tar", "-xzf", made.file("dwatch-%s.tgz"), "-C", dir)
	source, files := os.DirFS(filepath.Join(made.dir, chartSource)), 0
	err := fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		want, err := fs.ReadFile(source, name)
		got, readErr := os.ReadFile(filepath.Join(dir, "dwatch", name))
		if name == "Chart.yaml" {
			want = bytes.ReplaceAll(want, []byte("ersion: 0.0.0"), []byte("ersion: "+made.version))
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		return errors.Join(err, readErr)
	})
	if listed := strings.Fields(mustRun(t, "tar", "-tzf", made.file("dwatch-%s.tgz"))); err != nil || len(listed) != files || files < 10 {
		t.Errorf("%v, got %d files, want %d", err, len(listed), files)
	}
}

// installed are the files of both packages, except the completion of zsh.
var installed = []string{
	"usr/bin/dwatch", "usr/bin/kubectl-dwatch", "usr/bin/kubectl_complete-dwatch",
	"usr/share/man/man1/dwatch.1", "usr/share/man/man1/dwatch-send.1",
	"usr/share/bash-completion/completions/dwatch", "usr/share/fish/vendor_completions.d/dwatch.fish",
	"usr/share/doc/dwatch/copyright", "usr/share/doc/dwatch/CHANGELOG.md", "usr/share/doc/dwatch/docs/README.md", "usr/share/doc/dwatch/docs/explanations/guarantees.md",
}

// TestDeb checks that dpkg can install the package below an empty root, and remove it completely.
func TestDeb(t *testing.T) {
	need(t, "dpkg")
	root := t.TempDir()
	for _, dir := range []string{"info", "updates"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) string {
		return mustRun(t, "dpkg", append([]string{"--root=" + root, "--force-not-root", "--force-bad-path"}, args...)...)
	}
	dpkg("--install", made.file("dwatch_%s_amd64.deb"))
	wantFiles(t, root, append(installed, "usr/share/zsh/vendor-completions/_dwatch")...)
	wantVersion(t, mustRun(t, filepath.Join(root, "usr/bin/dwatch"), "--version"))
	if help := mustRun(t, filepath.Join(root, "usr/bin/kubectl-dwatch"), "--help"); !strings.Contains(help, "kubectl dwatch deploy,rs,po") {
		t.Errorf("as a plugin it does not call itself kubectl dwatch: %s", help)
	}
	dpkg("--remove", "dwatch")
	if left, err := os.ReadDir(filepath.Join(root, "usr/bin")); len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestRPM checks that the RPM has the same files, and requires no other package.
func TestRPM(t *testing.T) {
	f, err := os.Open(made.file("dwatch_%s_amd64.rpm"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := rpmutils.ReadRpm(f)
	if err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[int]string{rpmutils.NAME: "dwatch", rpmutils.LICENSE: "Apache-2.0", rpmutils.ARCH: "x86_64"} {
		if got, err := p.Header.GetString(tag); got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	files, err := p.Header.GetFiles()
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, f := range files {
		has[strings.TrimPrefix(f.Name(), "/")] = true
		if f.UserName() != "root" {
			t.Errorf("%s is owned by %s", f.Name(), f.UserName())
		}
	}
	for _, name := range append(installed, "usr/share/zsh/site-functions/_dwatch") {
		if !has[name] {
			t.Errorf("no %s", name)
		}
	}
	needs, _ := p.Header.GetStrings(rpmutils.REQUIRENAME)
	for _, name := range needs {
		if !strings.HasPrefix(name, "rpmlib(") {
			t.Errorf("the RPM requires %s", name)
		}
	}
}

// TestManual checks that each man page renders without a warning, and has the sections of the help.
func TestManual(t *testing.T) {
	need(t, "man")
	// In small images man is a script that only says that manual pages are missing.
	if version, err := exec.Command("man", "--version").Output(); err != nil || !strings.HasPrefix(string(version), "man ") {
		t.Skipf("man is not usable: %q, %v", version, err)
	}
	pages, err := filepath.Glob(filepath.Join(made.dir, "bin/manual/man/*.1"))
	if err != nil || len(pages) < 8 {
		t.Fatalf("%q, %v", pages, err)
	}
	for _, page := range pages {
		cmd := exec.Command("man", "--warnings", "-E", "ascii", "-l", page)
		cmd.Env = append(os.Environ(), "MANWIDTH=100", "MANROFFOPT=", "LC_ALL=C")
		var wrong strings.Builder
		cmd.Stderr = &wrong
		text, err := cmd.Output()
		if err != nil || wrong.Len() > 0 {
			t.Errorf("%s: %v: %s", page, err, wrong.String())
		}
		name := strings.TrimSuffix(filepath.Base(page), ".1")
		wants := []string{"NAME", "DESCRIPTION", "EXAMPLES", "USAGE", name + " - ", "SEE ALSO"}
		if name == "dwatch-completion" {
			wants = append(wants, "bash|zsh")
		} else { // not only the main flags
			wants = append(wants, "--namespace", "--exclude-namespace", "--readiness", "--help-all", "CONNECTION TO THE CLUSTER", "--kubeconfig")
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q", page, want)
			}
		}
	}
}
