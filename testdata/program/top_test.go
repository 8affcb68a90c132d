package program

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"dwatch/testdata/readme"
	"dwatch/testdata/testenv"
)

// topRow is a line of dwatch top -o json.
type topRow struct {
	Changes  int
	Object   struct{ Name string }
	Path     string
	Manager  *string
	Managers map[string]int
	Objects  int
	Fights   []struct {
		Path  string
		Sides []struct{ Manager, Old, New string }
	}
	HotLoop *struct {
		Sides []struct{ Manager string }
	}
}

// TestTop checks that dwatch top finds an injected fight and a hot loop among 500 objects, some of which change
// occasionally, and nothing else.
func TestTop(t *testing.T) {
	t.Parallel()
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	defer o.leave()
	client := configMapsOf(o)
	createMany(t, client, 500)
	for _, name := range []string{"fought-over", "looping"} {
		u := newConfigMap(name)
		u.Object["data"] = map[string]any{"k": "3", "held": "x"}
		if _, err := client.Create(t.Context(), u, metav1.CreateOptions{FieldManager: "maker"}); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(kubeconfig, o.namespace); err != nil {
		t.Fatal(err)
	}
	rows := startTop(t, kubeconfig)
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	defer writing.Wait()
	defer cancel()
	writing.Go(func() { churnAll(ctx, t, client) })

	fight, loop := false, false
	for r := range rows {
		for _, f := range r.Fights {
			sides := fmt.Sprint(f.Sides)
			if r.Object.Name != "fought-over" || f.Path != "data.k" || sides != "[{argocd 5 3} {hpa 3 5}]" {
				t.Errorf("%s: %+v", r.Object.Name, f)
			}
			fight = true
		}
		if r.HotLoop != nil {
			if r.Object.Name != "looping" || fmt.Sprint(r.HotLoop.Sides) != "[{loop}]" {
				t.Errorf("%s: %+v", r.Object.Name, r.HotLoop)
			}
			loop = true
		}
		if fight && loop && r.Object.Name != "fought-over" && r.Object.Name != "looping" {
			return // rows of other objects were checked, too
		}
	}
	t.Errorf("fight %t, hot loop %t", fight, loop)
}

// TestTopBy checks that dwatch top ranks fields and managers by their number of changes.
func TestTopBy(t *testing.T) {
	t.Parallel()
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	defer o.leave()
	client := configMapsOf(o)
	for _, name := range []string{"one", "two"} {
		u := newConfigMap(name)
		u.Object["data"] = map[string]any{"k": "1"}
		if _, err := client.Create(t.Context(), u, metav1.CreateOptions{FieldManager: "maker"}); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(kubeconfig, o.namespace); err != nil {
		t.Fatal(err)
	}
	fields, managers := startTop(t, kubeconfig, "--by", "field"), startTop(t, kubeconfig, "--by", "manager")
	ctx, cancel := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	defer writing.Wait()
	defer cancel()
	writing.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			for by, path := range map[string]string{"busy": "often", "calm": "seldom"} {
				if by == "calm" && n%3 > 0 {
					continue
				}
				for _, name := range []string{"one", "two"} {
					text := fmt.Sprintf(`{"data":{"%s":"%d"}}`, path, n)
					_, err := client.Patch(ctx, name, types.MergePatchType, []byte(text), metav1.PatchOptions{FieldManager: by})
					if err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
			}
		}
	})
	seen := map[string]bool{}
	for r := range fields {
		by, known := map[string]string{"data.often": "busy", "data.seldom": "calm"}[r.Path]
		if !known || len(r.Managers) != 1 || r.Managers[by] != r.Changes || r.Manager != nil {
			t.Errorf("by field: %+v", r)
		}
		if seen[r.Object.Name+r.Path] = true; len(seen) == 4 {
			break
		}
	}
	clear(seen)
	for r := range managers {
		path, known := map[string]string{"busy": "data.often", "calm": "data.seldom"}[*r.Manager]
		if !known || r.Path != path || r.Objects < 1 || r.Objects > 2 {
			t.Errorf("by manager: %+v, %s", r, *r.Manager)
		}
		if r.Objects == 2 {
			seen[*r.Manager] = true
		}
		if len(seen) == 2 {
			break
		}
	}
}

// churnAll writes a fight, a hot loop, and occasional changes of other objects.
func churnAll(ctx context.Context, t *testing.T, client dynamic.ResourceInterface) {
	patch := func(name, manager string, how types.PatchType, text string) {
		o := metav1.PatchOptions{FieldManager: manager}
		if how == types.ApplyPatchType {
			o.Force = new(bool)
			*o.Force = true
		}
		if _, err := client.Patch(ctx, name, how, []byte(text), o); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
	const applied = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"looping"}`
	for n := 0; ctx.Err() == nil; n++ {
		patch("fought-over", "hpa", types.MergePatchType, `{"data":{"k":"5"}}`)
		patch("fought-over", "argocd", types.MergePatchType, `{"data":{"k":"3"}}`)
		// The manager takes the ownership of a field that has this value already, and gives it up: the data does not
		// change.
		patch("looping", "loop", types.ApplyPatchType, applied+`,"data":{"held":"x"}}`)
		patch("looping", "loop", types.ApplyPatchType, applied+`}`)
		patch(fmt.Sprintf("standing-%04d", n%500), "somebody", types.MergePatchType, fmt.Sprintf(`{"data":{"n":"%d"}}`, n))
	}
}

// startTop starts dwatch top and returns its rows. It ends with the test.
func startTop(t *testing.T, kubeconfig string, more ...string) func(func(topRow) bool) {
	args := append([]string{"top", "cm", "-o", "json", "--interval", "1s", "--rows", "0"}, more...)
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "dwatch"), args...)
	cmd.Env = append(slices.Clone(cmd.Environ()), "KUBECONFIG="+kubeconfig)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	return func(yield func(topRow) bool) {
		for lines.Scan() {
			var r topRow
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				t.Errorf("%v: %s", err, lines.Text())
			}
			if !yield(r) {
				return
			}
		}
		t.Error(stderr.String())
	}
}

// TestTopInPlace checks that at a terminal each table overwrites the previous one.
func TestTopInPlace(t *testing.T) {
	t.Parallel()
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	defer o.leave()
	client := configMapsOf(o)
	if _, err := client.Create(t.Context(), newConfigMap("one"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m := startTmux(t, 80, 20, testbed.Kubeconfig)
	m.command("dwatch top cm -n " + o.namespace + "; echo END=$?")
	m.shows(`^PER MIN +CHANGES +OBJECT +FIELD +MANAGER$`)
	row := regexp.MustCompile(`(?m)^\d+\.\d +([1-9]\d*) +cm/one +data`)
	for n := 0; ; n++ {
		o.mustPatch(t, "cm/one", fmt.Sprintf(`{"data":{"k":"%d"}}`, n))
		screen := m.screen()
		if strings.Count(screen, "PER MIN") > 1 || len(row.FindAllString(screen, -1)) > 1 {
			t.Fatalf("the table was not overwritten:\n%s", screen)
		}
		if seen := row.FindStringSubmatch(screen); seen != nil && len(seen[1]) > 1 { // the table was rendered again
			break
		}
	}
	m.press("C-c")
	m.shows(`^END=0$`)
}

// TestTopQuiet checks that dwatch top finds nothing in a cluster with only the usual activity of controllers and nodes.
func TestTopQuiet(t *testing.T) {
	t.Parallel()
	c, err := testenv.StartCluster("--controllers")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	kubectl := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(readme.Path(t, "bin/kubectl"), append([]string{"--kubeconfig", c.Kubeconfig}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	kubectl("create", "deployment", "web", "--image", "web:1", "--replicas", "3")
	kubectl("rollout", "status", "deploy/web", "--timeout", "2m")
	// The timeout is longer than the detection of a hot loop takes.
	cmd := exec.Command(filepath.Join(binaries, "dwatch"), "top", "*", "-A", "-o", "json", "--rows", "0", "--timeout", "65s", "--kubeconfig", c.Kubeconfig)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var r topRow
		if err := json.Unmarshal([]byte(line), &r); err != nil || len(r.Fights) > 0 || r.HotLoop != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
}
