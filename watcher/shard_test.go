package watcher

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// meter is a transport that counts the bytes of responses. If old is true, the server behaves like
// an old one that does not support shards.
type meter struct {
	next  http.RoundTripper
	old   bool
	bytes atomic.Int64
}

func (m *meter) RoundTrip(r *http.Request) (*http.Response, error) {
	if m.old {
		r = r.Clone(r.Context())
		query := r.URL.Query()
		query.Del("shardSelector")
		r.URL.RawQuery = query.Encode()
	}
	response, err := m.next.RoundTrip(r)
	if err == nil {
		body := response.Body
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(body, counter{&m.bytes}), body}
	}
	return response, err
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

func meteredConfig(t *testing.T, old bool) (*rest.Config, *meter) {
	m := &meter{old: old}
	config := rest.CopyConfig(config(t, cluster))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		m.next = next
		return m
	})
	return config, m
}

// TestShards checks that each object belongs to one shard and that all shards together deliver
// every change, whether the server or the client selects the objects. A server that selects them
// sends less. A verification considers only the objects of its shard.
func TestShards(t *testing.T) {
	t.Parallel()
	const shards, objects = 3, 60
	sent := map[bool]int64{}
	for _, old := range []bool{false, true} {
		r := newSandbox(t, cluster)
		for i := range objects / 2 {
			r.create(fmt.Sprintf("cm-%02d", i))
		}
		var all []*testRun
		var meters []*meter
		verified := make(chan Verification, 1000)
		for number := 1; number <= shards; number++ {
			config, m := meteredConfig(t, old)
			meters = append(meters, m)
			all = append(all, watchWith(t, Options{
				Config: config, Targets: []event.Target{r.target()}, Request: source.Request{Shard: event.Shard{Number: number, Count: shards}},
				VerifyInterval: 50 * time.Millisecond, OnVerified: func(v Verification) { verified <- v }, // at the highest rate
			}))
		}
		for _, w := range all {
			w.await("SYNCED", 1)
		}
		for i := range objects / 2 {
			r.create(fmt.Sprintf("cm-%02d", objects/2+i))
		}
		for i := range objects {
			r.update(fmt.Sprintf("cm-%02d", i), 1)
			if i%2 == 0 {
				r.delete(fmt.Sprintf("cm-%02d", i))
			}
		}
		shardOf := map[string]int{} // by name
		awaitAll(t, all, func(number int, lines []string) int {
			n := 0
			for _, line := range lines {
				words := strings.Fields(strings.Replace(line, "initial ", "", 1))
				if len(words) < 2 {
					continue
				}
				n++
				name, _, _ := strings.Cut(words[1], "=")
				if first, known := shardOf[name]; known && first != number {
					t.Fatalf("%s is in shards %d and %d", name, first+1, number+1)
				}
				shardOf[name] = number
			}
			return n
		}, objects*2+objects/2)
		if len(shardOf) != objects {
			t.Errorf("%d of %d objects were delivered", len(shardOf), objects)
		}
		for range shards {
			if v := <-verified; v.Err != nil || len(v.Missed) > 0 || v.Count == objects {
				t.Errorf("unexpected verification: %+v", v)
			}
		}
		for _, w := range all {
			w.stop()
		}
		for _, m := range meters {
			sent[old] += m.bytes.Load()
		}
	}
	if sent[false] >= sent[true] {
		t.Error("a server that supports shards sends as much as one that does not")
	}
	t.Logf("%d bytes from a server that supports shards, %d from one that does not", sent[false], sent[true])
}

// TestShardsFollow checks that the watches that trigger a resolution ignore the shard: each run
// notices every namespace. It does not run in parallel because other tests change namespaces.
func TestShardsFollow(t *testing.T) {
	r := newSandbox(t, cluster)
	ctx, cancel := context.WithCancelCause(t.Context())
	var followers []*follower
	for number := 1; number <= 2; number++ {
		w := newWatcher(t, Options{Config: r.config, Request: source.Request{LabelSelector: "none=such", Shard: event.Shard{Number: number, Count: 2}}})
		set, f := newTargetSet(ctx, w.newRunState(), cancel), newFollower(time.Hour)
		var ended sync.WaitGroup
		ended.Go(func() { set.watchTrigger(namespaces, f) })
		defer ended.Wait()
		<-f.connected
		followers = append(followers, f)
	}
	defer cancel(nil)
	r.touch("now")
	for i, f := range followers {
		select {
		case <-f.changed:
		case <-time.After(time.Minute):
			t.Fatalf("shard %d/2 did not notice the change", i+1)
		}
	}
}

// awaitAll returns when the results of count for all runs add up to want.
func awaitAll(t *testing.T, all []*testRun, count func(number int, lines []string) int, want int) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		n := 0
		for number, w := range all {
			n += count(number, w.lines())
		}
		if n == want {
			return
		}
		if n > want {
			t.Fatalf("got %d lines, want %d", n, want)
		}
		select {
		case <-deadline:
			t.Fatalf("got %d lines, want %d", n, want)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestListShards checks that the lists of all shards together contain every object, also in pages,
// and that a shard number above the count selects nothing.
func TestListShards(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	var want []string
	for i := range 20 {
		r.create(fmt.Sprintf("cm-%02d", i))
		want = append(want, fmt.Sprintf("cm-%02d", i))
	}
	for _, old := range []bool{false, true} {
		for _, tables := range []bool{false, true} {
			var got []string
			for number := 1; number <= 3; number++ {
				config, _ := meteredConfig(t, old)
				w := newWatcher(t, Options{
					Config: config, Targets: []event.Target{r.target()}, Tables: tables,
					Request: source.Request{Shard: event.Shard{Number: number, Count: 2}},
				})
				objects, err := w.List(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if number == 3 && len(objects) > 0 {
					t.Errorf("shard 3/2 has %d objects", len(objects))
				}
				for _, o := range objects {
					got = append(got, o.Name)
				}
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("old %t, tables %t: %s", old, tables, got)
			}
		}
	}
}
