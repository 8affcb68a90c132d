//go:build unix

package program

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestKillChanged kills dwatch --state --where "changed('data.k')" repeatedly while objects change. The last change of
// data.k is printed for each object, and no other object is printed.
func TestKillChanged(t *testing.T) {
	t.Parallel()
	const objects, kills = 30, 12
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	defer o.leave()
	client := configMapsOf(o)
	for i := range objects {
		u := newConfigMap(fmt.Sprintf("cm-%02d", i))
		u.Object["data"] = map[string]any{"k": "first", "other": "first"}
		if _, err := client.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	want := map[string]string{}
	edit := func() {
		random := rand.New(rand.NewPCG(5, 6))
		for n := 0; ctx.Err() == nil; n++ {
			name, field := fmt.Sprintf("cm-%02d", random.IntN(objects)), "other"
			if random.IntN(3) == 0 && !strings.HasSuffix(name, "0") { // objects whose name ends with 0 never change k
				field = "k"
				want[name] = fmt.Sprint(n)
			}
			patch := fmt.Appendf(nil, `{"data":{"%s":"%d"}}`, field, n)
			if _, err := client.Patch(context.Background(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Error(err)
				return
			}
		}
	}
	k := &changedLines{t: t, printed: map[string]bool{}, args: []string{"cm", "--where", "changed('data.k')", "--marks", "-o", "json", "-q", "--state", filepath.Join(t.TempDir(), "state")}, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := writeKubeconfig(k.kubeconfig, o.namespace); err != nil {
		t.Fatal(err)
	}
	var editing sync.WaitGroup
	random := rand.New(rand.NewPCG(7, 8))
	for i := range kills {
		k.start()
		for i == 0 && !k.synced { // changes before SYNCED do not count as changes
			k.read()
		}
		if i == 0 {
			editing.Go(edit)
		}
		for range random.IntN(15) {
			k.read()
		}
		if i%3 == 1 {
			k.end(os.Interrupt)
		} else {
			k.end(os.Kill)
		}
	}
	cancel()
	editing.Wait()
	k.start()
	for name, value := range want {
		for !k.printed[name+"="+value] {
			k.read()
		}
	}
	k.end(os.Interrupt)
	t.Logf("%d objects changed, %d lines", len(want), k.lines)
}

// changedLines collects the output of all runs.
type changedLines struct {
	t          *testing.T
	args       []string
	kubeconfig string
	cmd        *exec.Cmd
	late       *time.Timer // kills a run that hangs
	out        *bufio.Scanner
	stderr     strings.Builder
	synced     bool
	lines      int
	printed    map[string]bool // keys are NAME=VALUE
}

func (k *changedLines) start() {
	k.cmd = exec.Command(filepath.Join(binaries, "dwatch"), k.args...)
	k.cmd.Env = append(os.Environ(), "KUBECONFIG="+k.kubeconfig)
	k.stderr.Reset()
	k.cmd.Stderr = &k.stderr
	out, err := k.cmd.StdoutPipe()
	if err == nil {
		err = k.cmd.Start()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	process := k.cmd.Process // not that of a later start
	k.late = time.AfterFunc(patience, func() { process.Kill() })
	k.out = bufio.NewScanner(out)
	k.out.Buffer(nil, 1<<20)
}

func (k *changedLines) read() {
	k.t.Helper()
	if !k.next() {
		k.t.Fatalf("dwatch ended: %s", k.stderr.String())
	}
}

// next reads one line, and returns false at the end.
func (k *changedLines) next() bool {
	if !k.out.Scan() {
		return false
	}
	var l struct {
		Type   string
		Object struct {
			Metadata metav1.ObjectMeta
			Data     map[string]string
		}
	}
	if json.Unmarshal(k.out.Bytes(), &l) != nil {
		return true // a line cut off by the kill
	}
	k.synced = k.synced || l.Type == "SYNCED"
	if name := l.Object.Metadata.Name; name != "" {
		k.lines++
		k.printed[name+"="+l.Object.Data["k"]] = true
		if strings.HasSuffix(name, "0") || l.Object.Data["k"] == "first" {
			k.t.Errorf("%s has not changed: %s", name, k.out.Bytes())
		}
	}
	return true
}

func (k *changedLines) end(signal os.Signal) {
	k.cmd.Process.Signal(signal)
	for k.next() {
	}
	k.cmd.Wait()
	k.late.Stop()
	if said := k.stderr.String(); strings.Contains(said, "judge") {
		k.t.Error(said)
	}
}
