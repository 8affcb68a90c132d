package program

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dwatch/testdata/readme"
	"dwatch/testdata/testenv"
)

// world is a namespace in which the conditions of the examples in docs/reference/waiting.md are met, or not met.
type world struct {
	*objects
	kubeconfig string
	column     int // column of the table with the expected exit codes
}

// TestInsteadOfKubectl runs each line of the table in docs/reference/waiting.md with equivalents of kubectl wait and kubectl
// rollout status. It runs both commands where the condition is met and where it is not, and compares the exit codes.
func TestInsteadOfKubectl(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(readme.Read(t, "docs/reference/waiting.md"), "\n## Instead of kubectl wait")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `(.*?)` \\| `(.*?)` \\| (\\d+, \\d+) \\| (\\d+, \\d+) \\|$").FindAllStringSubmatch(section, -1)
	if all := strings.Count(section, "\n| `"); len(rows) != all || all < 15 {
		t.Fatalf("%d of %d rows are understood", len(rows), all)
	}
	c := controllersBed(t)
	for name, w := range map[string]*world{
		"holds": {column: 3},
		"not":   {column: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.begin(t, c, name)
			for _, row := range rows {
				t.Run(row[1], func(t *testing.T) {
					t.Parallel()
					w.compare(t, row)
				})
			}
		})
	}
}

// begin creates the objects of a world, and waits until they have the expected status.
func (w *world) begin(t *testing.T, c *testenv.Cluster, name string) {
	var err error
	if w.objects, err = newObjectsOn(c); err != nil {
		t.Fatal(err)
	}
	w.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfigOf(c, w.kubeconfig, w.namespace); err != nil {
		t.Fatal(err)
	}
	apply := func(name string) error {
		return w.apply(readme.Path(t, "testdata/readme/wait/"+name+".yaml"), strings.NewReplacer())
	}
	idle := "False"
	if name == "not" {
		idle = "True"
	}
	err = errors.Join(apply("both"), w.patch("pods/idle", fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q}]}}`, idle)))
	if err != nil {
		t.Fatal(err)
	}
	// The first rollout finishes before a second one starts.
	w.must(t, "dwatch wait deploy/api --timeout 2m")
	if err := apply(name); err != nil {
		t.Fatal(err)
	}
	if name == "not" {
		w.must(t, "dwatch wait deploy/web job/once --for failed --timeout 2m")
		w.must(t, "dwatch wait deploy/api --timeout 2m")
	} else {
		w.must(t, "dwatch wait deploy,sts,ds,jobs --timeout 2m")
		w.must(t, "dwatch wait pods -l tier --timeout 2m")
	}
}

// compare runs the two commands of a row. Commands that should end by --timeout get a short one. The others get one that
// is long enough for a slow machine.
func (w *world) compare(t *testing.T, row []string) {
	var codes []string
	text := ""
	want := strings.Split(row[w.column], ", ")
	for i, command := range row[1:3] {
		timeout := "2m"
		if want[i] == "1" || want[i] == "124" {
			timeout = "1s"
		}
		command = regexp.MustCompile(`(--timeout[= ])5m`).ReplaceAllString(command, "${1}"+timeout)
		out, code := w.run(t, command)
		codes = append(codes, fmt.Sprint(code))
		text += "\n$ " + command + "\n" + out
	}
	t.Log(text)
	if got := strings.Join(codes, ", "); got != row[w.column] {
		t.Errorf("the exit codes are %s, want %s", got, row[w.column])
	}
}

func (w *world) must(t *testing.T, command string) {
	t.Helper()
	if out, code := w.run(t, command); code != 0 {
		t.Fatalf("%s: exit code %d\n%s", command, code, out)
	}
}

// run runs a command in a shell, as a reader would.
func (w *world) run(t *testing.T, command string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	path := []string{binaries, filepath.Dir(readme.Path(t, "bin/kubectl")), os.Getenv("PATH")}
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig, "HOME="+t.TempDir(), "PATH="+strings.Join(path, string(os.PathListSeparator)))
	text, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok {
		return string(text), exit.ExitCode()
	}
	return string(text), 0
}
