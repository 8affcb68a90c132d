//go:build unix

package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"dwatch/watcher/event"
	"dwatch/watcher/resume"
)

// TestKill kills dwatch --state repeatedly while objects are created, changed and deleted, and reads the output of all
// runs as one stream. After each kill:
//
//   - all objects in the state file were printed, so no event is lost;
//   - the next run repeats only events that are missing from the file.
//
// At the end the stream leads to the objects on the server, and contains each deletion. The first run is killed at its first
// line.
func TestKill(t *testing.T) {
	t.Parallel()
	const standing, kills = 1000, 15
	random := rand.New(rand.NewPCG(1, 2))
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	defer o.leave()
	client := configMapsOf(o)
	createMany(t, client, standing)
	changes := startChanges(t, client)
	defer changes() // before the namespace is deleted

	k := &killed{t: t, objects: o, state: filepath.Join(t.TempDir(), "state"), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	if err := writeKubeconfig(k.kubeconfig, o.namespace); err != nil {
		t.Fatal(err)
	}
	for i := range kills {
		run := k.start()
		switch {
		case i == 0:
			run.read(1)
		case i%3 == 2:
			time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond) // possibly before anything is printed
		default:
			run.read(random.IntN(standing / 2))
		}
		run.kill()
		k.look()
	}
	changes()
	run := k.start()
	run.readTo(present(t, client))
	run.quit()
	k.checkDeletions()
	k.checkSilent(client)
}

func configMapsOf(o *objects) dynamic.ResourceInterface {
	return o.client.Resource(configMaps).Namespace(o.namespace)
}

var configMaps = namespaces.GroupVersion().WithResource("configmaps")

func newConfigMap(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	u.SetName(name)
	return u
}

// createMany creates n ConfigMaps that no test changes.
func createMany(t *testing.T, client dynamic.ResourceInterface, n int) {
	t.Helper()
	var group sync.WaitGroup
	for part := range 8 {
		group.Go(func() {
			for i := part; i < n; i += 8 {
				if _, err := client.Create(t.Context(), newConfigMap(fmt.Sprintf("standing-%04d", i)), metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// startChanges creates, changes and deletes ConfigMaps with a few names until stop is called. stop waits for the last
// request.
func startChanges(t *testing.T, client dynamic.ResourceInterface) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	var group sync.WaitGroup
	group.Go(func() {
		random := rand.New(rand.NewPCG(3, 4))
		for n := 0; ctx.Err() == nil; n++ {
			if err := changeOne(client, fmt.Sprintf("moving-%02d", random.IntN(40)), n, random.IntN(5) == 0); err != nil {
				t.Error(err)
				return
			}
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}

func changeOne(client dynamic.ResourceInterface, name string, n int, remove bool) error {
	ctx := context.Background()
	var err error
	if remove {
		err = client.Delete(ctx, name, metav1.DeleteOptions{})
	} else {
		patch := fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n)
		_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	switch {
	case !apierrors.IsNotFound(err):
		return err
	case remove:
		return nil
	}
	_, err = client.Create(ctx, newConfigMap(name), metav1.CreateOptions{})
	return err
}

// line is a printed event.
type line struct {
	Type   event.Type
	Object metav1.PartialObjectMetadata
}

func (l line) String() string {
	return fmt.Sprintf("%s %s/%s/%s", l.Type, l.Object.Name, l.Object.UID, l.Object.ResourceVersion)
}

// killed is the printed events of all runs, and their state file.
type killed struct {
	t                 *testing.T
	objects           *objects
	state, kubeconfig string
	lines             []line
	// kept is the content of the file before the present run, by name.
	kept map[string][]event.ReportedObject
}

// last returns the last line of each object.
func (k *killed) last() map[string]line {
	last := map[string]line{}
	for _, l := range k.lines {
		last[l.Object.Name] = l
	}
	return last
}

// aRun is one dwatch process.
type aRun struct {
	*killed
	cmd     *exec.Cmd
	out     *bufio.Reader
	stderr  strings.Builder
	printed map[string]bool // by line and by UID
}

func (k *killed) start() *aRun {
	k.t.Helper()
	run := &aRun{killed: k, printed: map[string]bool{}}
	run.cmd = exec.Command(filepath.Join(binaries, "dwatch"), "configmaps", "--state", k.state)
	run.cmd.Env = append(os.Environ(), "KUBECONFIG="+k.kubeconfig)
	run.cmd.Stderr = &run.stderr
	out, err := run.cmd.StdoutPipe()
	if err == nil {
		err = run.cmd.Start()
	}
	if err != nil {
		k.t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { run.cmd.Process.Kill() })
	k.t.Cleanup(func() { late.Stop() })
	run.out = bufio.NewReaderSize(out, 1<<20)
	return run
}

// next reads one line, and returns false at the end. An incomplete line does not count as printed.
func (r *aRun) next() bool {
	text, err := r.out.ReadBytes('\n')
	if err != nil {
		return false
	}
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		r.t.Fatalf("%v: %s", err, text)
	}
	r.checkRepeat(l)
	r.lines = append(r.lines, l)
	return true
}

// checkRepeat checks that an event of an earlier run is repeated only if the file did not contain it.
func (r *aRun) checkRepeat(l line) {
	uid := string(l.Object.UID)
	kept := func(is func(event.ReportedObject) bool) bool { return slices.ContainsFunc(r.kept[l.Object.Name], is) }
	same := func(o event.ReportedObject) bool {
		return o.UID == l.Object.UID && o.ResourceVersion == l.Object.ResourceVersion
	}
	switch {
	case r.printed[l.String()]:
		r.t.Errorf("printed twice in one run: %s", l)
	case l.Type != event.Deleted && kept(func(o event.ReportedObject) bool { return same(o) && !o.Unconfirmed }):
		r.t.Errorf("%s was repeated, although the file contains it", l)
	case l.Type == event.Deleted && !r.printed[uid] && !kept(func(o event.ReportedObject) bool { return string(o.UID) == uid }):
		r.t.Errorf("%s was printed, although the file does not contain the object", l)
	}
	r.printed[l.String()], r.printed[uid] = true, true
}

func identityOf(l line) string { return string(l.Object.UID) + "/" + l.Object.ResourceVersion }

// read reads n lines.
func (r *aRun) read(n int) {
	for range n {
		if !r.next() {
			r.t.Fatalf("dwatch ended after %d lines: %s", len(r.lines), r.stderr.String())
		}
	}
}

// readTo reads until the last line of each object matches want, which maps names to UID/resourceVersion.
func (r *aRun) readTo(want map[string]string) {
	for r.out.Buffered() > 0 || !maps.Equal(r.says(), want) {
		if !r.next() {
			r.t.Fatalf("dwatch ended before its output matched the objects on the server (-server +printed):\n%s\n%s", cmp.Diff(want, r.says()), r.stderr.String())
		}
	}
}

func (r *aRun) kill() {
	r.cmd.Process.Kill()
	for r.next() {
	}
	r.cmd.Wait()
}

func (r *aRun) quit() {
	r.cmd.Process.Signal(os.Interrupt)
	for r.next() {
	}
	if err := r.cmd.Wait(); err != nil {
		r.t.Errorf("%v: %s", err, r.stderr.String())
	}
	r.look()
}

// look reads the file as the next run will, and checks that it contains only events that were printed.
func (k *killed) look() {
	k.t.Helper()
	if _, err := os.Stat(k.state); errors.Is(err, fs.ErrNotExist) {
		return
	}
	f, err := resume.Open(k.state, resume.Header{
		Server: strings.TrimPrefix(k.objects.config.Host, "https://"), Selection: event.Selection{Resources: []event.SelectedResource{{Resource: "configmaps"}}, Namespaces: []string{k.objects.namespace}},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	defer f.Close()
	k.kept = map[string][]event.ReportedObject{}
	for _, target := range f.OrphanedTargets("", nil) {
		if _, err := f.History(target, func(o event.ReportedObject) { k.kept[o.Name] = append(k.kept[o.Name], o) }); err != nil {
			k.t.Fatal(err)
		}
	}
	printed := map[string]bool{}
	for _, l := range k.lines {
		printed[l.Object.Name+identityOf(l)] = true
	}
	for _, told := range k.kept {
		for _, o := range told {
			if !o.Unconfirmed && !printed[o.Name+string(o.UID)+"/"+o.ResourceVersion] {
				k.t.Errorf("the file contains %+v, which was never printed", o)
			}
		}
	}
}

// present returns the UID/resourceVersion of each object on the server, by name.
func present(t *testing.T, client dynamic.ResourceInterface) map[string]string {
	t.Helper()
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]string{}
	for _, o := range list.Items {
		there[o.GetName()] = string(o.GetUID()) + "/" + o.GetResourceVersion()
	}
	return there
}

// says returns the UID/resourceVersion of each object that exists according to the printed events, by name.
func (k *killed) says() map[string]string {
	said := map[string]string{}
	for name, l := range k.last() {
		if l.Type != event.Deleted {
			said[name] = identityOf(l)
		}
	}
	return said
}

// checkDeletions checks that the deletion of each printed object was printed, too.
func (k *killed) checkDeletions() {
	last := k.last()
	ended := map[types.UID]bool{}
	for _, l := range k.lines {
		if l.Type == event.Deleted {
			ended[l.Object.UID] = true
		}
	}
	for _, l := range k.lines {
		if l.Type != event.Deleted && last[l.Object.Name].Object.UID != l.Object.UID && !ended[l.Object.UID] {
			k.t.Errorf("the deletion of %s was not printed", l)
		}
	}
}

// checkSilent checks that the run after a clean exit prints only new events.
func (k *killed) checkSilent(client dynamic.ResourceInterface) {
	before := len(k.lines)
	run := k.start()
	if _, err := client.Create(k.t.Context(), newConfigMap("last"), metav1.CreateOptions{}); err != nil {
		k.t.Fatal(err)
	}
	run.read(1)
	run.quit()
	if got := k.lines[before:]; len(got) != 1 || got[0].Object.Name != "last" {
		k.t.Errorf("%s", got)
	}
	k.t.Logf("%d lines, %d of them repeated", len(k.lines), k.repeated())
}

func (k *killed) repeated() (n int) {
	seen := map[string]bool{}
	for _, l := range k.lines {
		if seen[l.String()] {
			n++
		}
		seen[l.String()] = true
	}
	return n
}
