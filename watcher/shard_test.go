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

// meter is a client's transport that counts what comes of an object's requests. Of a server behind it that
// is old nothing of shards is known.
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

// TestShards: each object and each change of it comes from one shard, and all together have all, whether the server
// selects what is in a shard or sends everything; the one that selects sends less. That a verification finds nothing
// missing says that it looks at the shard alone.
func TestShards(t *testing.T) {
	t.Parallel()
	const shards, objects = 3, 60
	sent := map[bool]int64{}
	for _, old := range []bool{false, true} {
		r := newRoom(t, cluster)
		for i := range objects / 2 {
			r.create(fmt.Sprintf("cm-%02d", i))
		}
		var all []*watching
		var meters []*meter
		verified := make(chan Verification, 1000)
		for number := 1; number <= shards; number++ {
			config, m := meteredConfig(t, old)
			meters = append(meters, m)
			all = append(all, watchWith(t, Options{
				Config: config, Targets: []event.Target{r.target()}, Request: source.Request{Shard: event.Shard{Number: number, Count: shards}},
				VerifyInterval: 50 * time.Millisecond, OnVerified: func(v Verification) { verified <- v }, // which the server is asked at most
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
		of := map[string]int{} // by name
		awaitAll(t, all, func(number int, lines []string) int {
			n := 0
			for _, line := range lines {
				words := strings.Fields(strings.Replace(line, "initial ", "", 1))
				if len(words) < 2 {
					continue
				}
				n++
				name, _, _ := strings.Cut(words[1], "=")
				if was, known := of[name]; known && was != number {
					t.Fatalf("%s is of shard %d and of %d", name, was+1, number+1)
				}
				of[name] = number
			}
			return n
		}, objects*2+objects/2)
		if len(of) != objects {
			t.Errorf("%d of %d objects came", len(of), objects)
		}
		for range shards {
			if v := <-verified; v.Err != nil || len(v.Missed) > 0 || v.Count == objects {
				t.Errorf("%+v", v)
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
		t.Error("the server that selects sends no less")
	}
	t.Logf("%d bytes from a server that selects, %d from one that does not", sent[false], sent[true])
}

// TestShardsFollow: what is asked for comes and goes with objects that are of no shard: each run hears of a namespace, of
// whichever shard that would be. No other test changes one meanwhile.
func TestShardsFollow(t *testing.T) {
	r := newRoom(t, cluster)
	ctx, cancel := context.WithCancelCause(t.Context())
	var followers []*follower
	for number := 1; number <= 2; number++ {
		w := newWatcher(t, Options{Config: r.config, Request: source.Request{LabelSelector: "none=such", Shard: event.Shard{Number: number, Count: 2}}})
		set, f := newTargetSet(ctx, w.newRun(), cancel), newFollower(time.Hour)
		var ended sync.WaitGroup
		ended.Go(func() { set.watchDefinitions(namespaces, f) })
		defer ended.Wait()
		<-f.up
		followers = append(followers, f)
	}
	defer cancel(nil)
	r.touch("now")
	for i, f := range followers {
		select {
		case <-f.changed:
		case <-time.After(time.Minute):
			t.Fatalf("shard %d/2 does not hear of it", i+1)
		}
	}
}

// awaitAll returns when together so many lines have come as count finds.
func awaitAll(t *testing.T, all []*watching, count func(number int, lines []string) int, want int) {
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
			t.Fatalf("%d lines came, of %d", n, want)
		}
		select {
		case <-deadline:
			t.Fatalf("%d lines came, of %d", n, want)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestShardOfList: lists of all shards are together the list of all, also where they come in pages; and a shard too many
// has nothing.
func TestShardOfList(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
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
					t.Errorf("a shard too many has %d objects", len(objects))
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
