//go:build unix

package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dwatch/testdata/readme"
)

const libraryPage = "docs/tasks/use-as-a-go-library.md"

// TestLibrary follows docs/tasks/use-as-a-go-library.md. The page shows the program in testdata/library and its output.
func TestLibrary(t *testing.T) {
	t.Parallel()
	_, program, _ := strings.Cut(readme.Read(t, "testdata/library/main.go"), "\npackage main\n")
	readme.CheckOrUpdate(t, libraryPage, libraryBlock(t, "go"), "package main\n"+program)

	o, kubeconfig := room(t)
	var stdout, stderr transcript
	cmd := exec.Command(buildLibrary(t))
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait() // ProcessState has the exit code
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	await := func(line string) {
		t.Helper()
		if !stdout.await(regexp.MustCompile("(?m)^"+line), 1, ended) {
			t.Fatalf("no line %q:\n%s%s", line, stdout.String(), stderr.String())
		}
	}
	await("SYNCED")
	o.applyText(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {level: info}\n")
	await("ADDED")
	o.mustPatch(t, "configmaps/settings", `{"data":{"level":"debug"}}`)
	await("MODIFIED")
	if err := o.remove("configmaps/settings"); err != nil {
		t.Fatal(err)
	}
	await("DELETED")
	cmd.Process.Signal(os.Interrupt)
	<-ended
	if !cmd.ProcessState.Success() || stderr.String() != "" {
		t.Errorf("%v: %s", cmd.ProcessState, stderr.String())
	}
	readme.CheckOrUpdate(t, libraryPage, libraryBlock(t, "text"), stdout.String())
}

// libraryBlock returns the first code block of a language on the page.
func libraryBlock(t *testing.T, language string) string {
	t.Helper()
	_, text, _ := strings.Cut(readme.Read(t, libraryPage), "\n```"+language+"\n")
	text, _, found := strings.Cut(text, "\n```\n")
	if !found {
		t.Fatalf("%s has no block of %s", libraryPage, language)
	}
	return text + "\n"
}

// buildLibrary builds the program in a module of its own, with the commands on the page.
func buildLibrary(t *testing.T) (program string) {
	t.Helper()
	dir := t.TempDir()
	for name, from := range map[string]string{"main.go": "testdata/library/main.go", "go.sum": "go.sum"} { // with go.sum, nothing is downloaded
		if err := os.WriteFile(filepath.Join(dir, name), []byte(readme.Read(t, from)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	module := strings.TrimSpace(runGo(t, ".", "list", "-m"))
	page := readme.Read(t, libraryPage)
	for _, command := range []string{"mod init example.com/settings", "mod edit -require=" + module + "@v0.0.0 -replace=" + module + "=../dwatch", "mod tidy"} {
		if !strings.Contains(module, ".") && !strings.Contains(page, "\ngo "+command+"\n") { // a published module has another page
			t.Errorf("%s lacks: go %s", libraryPage, command)
		}
		runGo(t, dir, strings.Fields(strings.ReplaceAll(command, "../dwatch", readme.Path(t, "")))...)
	}
	runGo(t, dir, "build", "-ldflags", "-s -w", "-o", "settings", ".")
	return filepath.Join(dir, "settings")
}

// runGo runs the go command in a directory and returns its output.
func runGo(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}
