package program

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// topRow is a line of dwatch top -o json.
type topRow struct {
	Changes int
	Object  struct{ Name string }
	Fights  []struct {
		Path  string
		Sides []struct{ Manager, Old, New string }
	}
	HotLoop *struct {
		Sides []struct{ Manager string }
	}
}

// TestTop: an injected fight and a hot loop are found among 500 quiet objects, some of which change
// now and then, and nothing else is.
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
			return // and others have been looked at, too
		}
	}
	t.Errorf("fight %t, hot loop %t", fight, loop)
}

// churnAll is what happens: a fight, a hot loop, and others that change now and then.
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
		// It takes hold of what has its value already, and lets it go: nothing of the object changes.
		patch("looping", "loop", types.ApplyPatchType, applied+`,"data":{"held":"x"}}`)
		patch("looping", "loop", types.ApplyPatchType, applied+`}`)
		patch(fmt.Sprintf("standing-%04d", n%500), "somebody", types.MergePatchType, fmt.Sprintf(`{"data":{"n":"%d"}}`, n))
	}
}

// startTop starts dwatch top, which ends with the test, and returns its rows.
func startTop(t *testing.T, kubeconfig string) func(func(topRow) bool) {
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "dwatch"), "top", "cm", "-o", "json", "--interval", "1s", "--rows", "0")
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
