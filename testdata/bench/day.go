package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// Names of the queries on the recording of a day, and the parameters of its generated content.
const (
	dayName     = "a recording of a day"
	dayList     = "list --at"
	dayScan     = "--where, all of it"
	daySeldom   = "--where, a resource that seldom changes"
	dayPods     = 500
	dayReplicas = 10 // of the pods of one template
	daySpaces   = 20
	dayPodBytes = 3400
)

// day measures the size of a generated recording of a day, and queries on it.
func (b *bench) day(ctx context.Context) error {
	if b.dayEvents == 0 {
		return nil
	}
	progress("a recording of a day, of %s events", thousands(b.dayEvents))
	dir, began := filepath.Join(b.dir, "day"), time.Now().Add(-25*time.Hour).Truncate(time.Second)
	if err := writeDay(ctx, dir, began, b.dayEvents); err != nil {
		return err
	}
	size, err := sizeOf(dir)
	if err != nil {
		return err
	}
	b.found.add(dayName, bytesOut, float64(size))
	at := began.Add(13*time.Hour + 7*time.Minute).Format(time.RFC3339)
	for range b.rounds {
		for _, q := range []struct {
			name string
			argv []string
			want int // lines at least
		}{
			{dayList, b.versions[0].list("pods", "-A", "--from", dir, "--at", at, "-o", "name"), dayPods},
			{dayScan, b.versions[0].stream("pods", "-A", "--from", dir, "-o", "name", "--where", "has(object.status) && object.status.restarts > 100"), 0},
			{daySeldom, b.versions[0].stream("secrets", "-A", "--from", dir, "-o", "name", "--where", "object.metadata.name == 's'"), 2},
		} {
			if err := b.query(ctx, q.name, q.argv, q.want); err != nil {
				return err
			}
		}
	}
	return nil
}

// query runs a program to its end and measures it.
func (b *bench) query(ctx context.Context, name string, argv []string, want int) error {
	p, err := start(ctx, argv, b.env, false)
	if err != nil {
		return err
	}
	peak, done := int64(0), make(chan struct{})
	sampled := make(chan struct{})
	go func() { // memory must be read before the process exits
		defer close(sampled)
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			if m, err := memoryOf(p.pid()); err == nil {
				peak = m.peak
			}
			select {
			case <-tick.C:
			case <-done:
				tick.Stop()
				return
			}
		}
	}()
	out, err := io.ReadAll(p.stdout)
	all := p.since(time.Now())
	if ended := p.cmd.Wait(); err == nil {
		err = ended
	}
	close(done)
	<-sampled
	if lines := bytes.Count(out, []byte("\n")); err == nil && lines < want {
		err = fmt.Errorf("%d lines, want %d", lines, want)
	}
	if err != nil {
		return p.end(err)
	}
	used := p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	b.found.add(name, allOut, all)
	b.found.add(name, syncCPU, used.Seconds())
	b.found.add(name, syncPeak, float64(peak))
	return p.end(nil)
}

// sizeOf returns the total size of the files in a directory.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

var (
	dayTarget     = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true)}
	seldomChanged = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret", true)}
)

// generator generates versions of objects.
type generator struct {
	random  *rand.Rand
	version int
	specs   [dayPods / dayReplicas]string
}

// pod returns the next version of a pod. As in real pods, the time, the managed fields, a counter and some
// unpredictable text change.
func (m *generator) pod(n int, at time.Time) event.Object {
	m.version++
	own := &m.specs[n/dayReplicas]
	if *own == "" {
		var spec strings.Builder
		for i := 0; spec.Len() < dayPodBytes; i++ {
			fmt.Fprintf(&spec, `,{"name":"E%d","value":"%x"}`, i, m.random.Uint32())
		}
		*own = spec.String()
	}
	id := &event.Identity{APIVersion: "v1", Kind: "Pod", Namespace: fmt.Sprint("ns-", n%daySpaces), Name: fmt.Sprint("pod-", n), ResourceVersion: fmt.Sprint(m.version)}
	return event.NewObject(id, fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"beat":"%x"},"managedFields":[{"manager":"kubelet","time":%q}],"name":%q,"namespace":%q,"resourceVersion":%q,"uid":"u-%d"},"spec":{"nodeName":"node-%d","env":[{"name":"A","value":"b"}%s]},"status":{"restarts":%d}}`,
		m.random.Uint32(), at.UTC().Format(time.RFC3339), id.Name, id.Namespace, id.ResourceVersion, n, n%7, *own, m.version/dayPods%10))
}

// secret returns the next version of the Secret.
func (m *generator) secret() event.Object {
	m.version++
	id := &event.Identity{APIVersion: "v1", Kind: "Secret", Namespace: "ns-1", Name: "s", ResourceVersion: fmt.Sprint(m.version)}
	return event.NewObject(id, fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"ns-1","resourceVersion":%q,"uid":"u"}}`, id.ResourceVersion))
}

// writeDay records events at equal intervals over a day. One of them changes a resource that seldom changes.
func writeDay(ctx context.Context, dir string, began time.Time, events int) error {
	encode, err := output.NewEncoder(output.Options{})
	if err != nil {
		return err
	}
	r, err := recording.OpenRecorder(dir)
	if err != nil {
		return err
	}
	now := began
	o := recording.Options{
		EncodeEvent: encode, EncodeObject: func(o event.Object) string { return o.Raw() }, Now: func() time.Time { return now },
		DescribeResource: func(r schema.GroupVersionResource) metav1.APIResource {
			return metav1.APIResource{SingularName: strings.TrimSuffix(r.Resource, "s")}
		},
	}
	selected := event.Selection{AllNamespaces: true, Resources: []event.SelectedResource{{Resource: "pods"}, {Resource: "secrets"}}}
	err = r.StartRun(o, recording.RunInfo{Server: "s", ClusterUID: "c", Selection: selected}, []event.Target{dayTarget, seldomChanged})
	deliver := func(batch ...event.Event) {
		for i := range batch {
			if batch[i].Time = now; batch[i].Type == event.Bookmark {
				batch[i].Heard = now
			}
		}
		err = errors.Join(err, r.Deliver(ctx, batch))
	}
	m := &generator{random: rand.New(rand.NewPCG(1, 2))}
	var first []event.Event
	for n := range dayPods {
		first = append(first, event.Event{Type: event.Added, Target: dayTarget, Object: m.pod(n, now), Initial: true})
	}
	deliver(append(first, event.Event{Type: event.Added, Target: seldomChanged, Object: m.secret(), Initial: true}, event.Event{Type: event.Synced, Target: dayTarget}, event.Event{Type: event.Synced, Target: seldomChanged})...)
	for n, beat := 0, now; n < events && err == nil && ctx.Err() == nil; n++ {
		now = now.Add(24 * time.Hour / time.Duration(events))
		if n == events/2 {
			deliver(event.Event{Type: event.Modified, Target: seldomChanged, Object: m.secret()})
		}
		deliver(event.Event{Type: event.Modified, Target: dayTarget, Object: m.pod(m.random.IntN(dayPods), now)})
		if now.Sub(beat) >= event.ProbeInterval || n == events-1 {
			beat = now
			deliver(event.Event{Type: event.Heartbeat}, event.Event{Type: event.Bookmark, Target: dayTarget}, event.Event{Type: event.Bookmark, Target: seldomChanged})
		}
	}
	return errors.Join(err, r.Close(), context.Cause(ctx))
}

// days returns the table of the recording of a day.
func (r results) days(events int) string {
	if r[dayName] == nil {
		return ""
	}
	lines := [][]string{{"", "time", "CPU", "peak memory"}}
	for _, name := range []string{dayList, dayScan, daySeldom} {
		lines = append(lines, []string{name, seconds(r.median(name, allOut)), seconds(r.median(name, syncCPU)), megabytes(r.median(name, syncPeak))})
	}
	size := r.median(dayName, bytesOut)
	return "**A recording of a day**\n\n" + markdown(lines) + "\n" + fmt.Sprintf(
		"The recording is generated: %s events of %s pods of 3.6 KB, ten per template, at equal intervals. Its size is %s: %s bytes an event.\n",
		thousands(events), thousands(dayPods), megabytes(size), significant(size/float64(events), 3))
}
