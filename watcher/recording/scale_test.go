package recording

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/watcher/event"
)

var (
	scaleEvents = flag.Int("events", 5_000, "write `N` events in TestScale")
	scaleBytes  = flag.Int("bytes", 3400, "write events of `N` bytes in TestScale")
	scaleDir    = flag.String("dir", "", "write the events of TestScale into `DIR`, and keep them")
)

var (
	pods    = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true)}
	secrets = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret", true)}
)

const (
	scalePods       = 500
	scaleNamespaces = 20
)

// scaledPod returns a version of pod n with about scaleBytes bytes.
func scaledPod(n, version int, at time.Time) event.Object {
	id := &event.Identity{APIVersion: "v1", Kind: "Pod", Namespace: fmt.Sprint("ns-", n%scaleNamespaces), Name: fmt.Sprint("pod-", n), ResourceVersion: fmt.Sprint(version)}
	var spec strings.Builder
	for i := 0; spec.Len() < *scaleBytes; i++ {
		fmt.Fprintf(&spec, `,{"name":"E%d","value":"%x"}`, i, uint32(i*i+1)*2654435761)
	}
	return event.NewObject(id, fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"beat":"%x"},"managedFields":[{"manager":"kubelet","time":%q}],"name":%q,"namespace":%q,"resourceVersion":%q,"uid":"u-%d"},"spec":{"nodeName":"node-%d","env":[{"name":"A","value":"b"}%s]},"status":{"restarts":%d}}`,
		uint32(version)*2654435761, at.Format(time.RFC3339), id.Name, id.Namespace, id.ResourceVersion, n, n%7, spec.String(), version/scalePods%10))
}

// writeScaled records a day of events of pods, and one of a secret, which stands for resources that seldom change.
func writeScaled(t *testing.T, dir string) {
	encode, err := output.NewEncoder(output.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := start
	o := Options{EncodeEvent: encode, EncodeObject: func(o event.Object) string { return o.Raw() }, Now: func() time.Time { return now },
		DescribeResource: func(r schema.GroupVersionResource) metav1.APIResource {
			return metav1.APIResource{SingularName: strings.TrimSuffix(r.Resource, "s")}
		}}
	about := RunInfo{Server: "s", ClusterUID: "c", Selection: event.Selection{AllNamespaces: true, Resources: []event.SelectedResource{{Resource: "pods"}, {Resource: "secrets"}}}}
	if err := r.StartRun(o, about, []event.Target{pods, secrets}); err != nil {
		t.Fatal(err)
	}
	deliver := func(batch ...event.Event) {
		for i := range batch {
			batch[i].Time = now
		}
		r.clock.last = now // the process was not suspended
		if err := r.Deliver(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	confirm := func() {
		deliver(event.Event{Type: event.Heartbeat}, event.Event{Type: event.Bookmark, Target: pods, Heard: now}, event.Event{Type: event.Bookmark, Target: secrets, Heard: now})
	}
	var first []event.Event
	for n := range scalePods {
		first = append(first, event.Event{Type: event.Added, Target: pods, Object: scaledPod(n, n, now), Initial: true})
	}
	secret := event.NewObject(&event.Identity{APIVersion: "v1", Kind: "Secret", Namespace: "ns-1", Name: "s", ResourceVersion: "1"}, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"ns-1","resourceVersion":"1","uid":"u"}}`)
	deliver(append(first, event.Event{Type: event.Added, Target: secrets, Object: secret, Initial: true}, event.Event{Type: event.Synced, Target: pods}, event.Event{Type: event.Synced, Target: secrets})...)
	interval := 24 * time.Hour / time.Duration(*scaleEvents)
	batchSize := max(*scaleEvents/1_000_000, 1)
	confirmed := now
	var batch []event.Event
	for n := range *scaleEvents {
		now = now.Add(interval)
		batch = append(batch, event.Event{Type: event.Modified, Target: pods, Object: scaledPod(n%scalePods, n+scalePods, now)})
		if len(batch) < batchSize && n+1 < *scaleEvents {
			continue
		}
		deliver(batch...)
		batch = batch[:0]
		if n/batchSize == *scaleEvents/batchSize/2 {
			deliver(event.Event{Type: event.Modified, Target: secrets, Object: event.NewObject(&event.Identity{APIVersion: "v1", Kind: "Secret", Namespace: "ns-1", Name: "s", ResourceVersion: fmt.Sprint(n + scalePods)}, strings.Replace(secret.Raw(), `"1"`, fmt.Sprintf("%q", fmt.Sprint(n+scalePods)), 1))})
		}
		if now.Sub(confirmed) >= 5*time.Second {
			confirm()
			confirmed = now
		}
	}
	confirm()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestScale queries a recording of a day with many events, and logs its size and how long the queries take. Use -events 1000000
// for a realistic number.
func TestScale(t *testing.T) {
	dir := *scaleDir
	if dir == "" {
		dir = t.TempDir()
	}
	began := time.Now()
	if _, err := os.Stat(dir + "/.lock"); err != nil {
		writeScaled(t, dir)
	}
	files, _, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, f := range files {
		size += f.size
	}
	t.Logf("%d segments, %d MB, %.1f B per event, written in %s", len(files), size>>20, float64(size)/float64(*scaleEvents), time.Since(began))
	recording := read(t, dir)
	count := func(q Query) (n int) {
		began := time.Now()
		proof, err := recording.Replay(t.Context(), q, event.SinkFunc(func(_ context.Context, batch []event.Event) error {
			for _, e := range batch {
				if e.Type == event.Modified {
					n++
				}
			}
			return nil
		}))
		if err != nil || !proof.IsComplete() {
			t.Errorf("replay %s: %v, gaps %v", q.Targets[0].Text(), err, gaps(proof))
		}
		t.Logf("replay %s: %d events in %s", q.Targets[0].Text(), n, time.Since(began))
		return n
	}
	if n := count(Query{Targets: []event.Target{pods}}); n != *scaleEvents {
		t.Errorf("got %d events of pods, want %d", n, *scaleEvents)
	}
	if n := count(Query{Targets: []event.Target{secrets}}); n != 1 {
		t.Errorf("got %d events of secrets, want 1", n)
	}
	began = time.Now()
	objects, proof, err := recording.ObjectsAt(t.Context(), Query{Targets: []event.Target{pods}}, start.Add(13*time.Hour))
	if err != nil || len(objects) != scalePods || !proof.IsComplete() {
		t.Errorf("objects at a time: got %d, want %d; %v, gaps %v", len(objects), scalePods, err, gaps(proof))
	}
	t.Logf("objects at a time: %s", time.Since(began))
}
