package remote_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
	"dwatch/watcher/recording/remote"
)

var configMaps = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true)}

var begin = time.Date(2026, 1, 31, 2, 0, 0, 0, time.UTC)

// run is a Recorder with a simulated clock.
type run struct {
	*recording.Recorder
	t   *testing.T
	now time.Time
	n   int // the latest resourceVersion
}

// newRun starts a run that has listed all objects.
func newRun(t *testing.T, dir, masks string, at time.Time) *run {
	t.Helper()
	r := newUnlistedRun(t, dir, masks, at)
	r.deliver(event.Event{Type: event.Synced, Target: configMaps, Time: at})
	return r
}

// newUnlistedRun starts a run that has not listed objects.
func newUnlistedRun(t *testing.T, dir, masks string, at time.Time) *run {
	t.Helper()
	recorder, err := recording.OpenRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{recorder, t, at, 0}
	encode, err := output.NewEncoder(output.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = r.StartRun(recording.Options{
		EncodeEvent:      encode,
		EncodeObject:     func(o event.Object) string { return o.Raw() },
		Now:              func() time.Time { return r.now },
		DescribeResource: func(schema.GroupVersionResource) metav1.APIResource { return metav1.APIResource{} },
	}, recording.RunInfo{ClusterUID: "c", Masks: masks}, []event.Target{configMaps})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *run) deliver(e event.Event) {
	r.t.Helper()
	if err := r.Deliver(context.Background(), []event.Event{e}); err != nil {
		r.t.Fatal(err)
	}
}

// change records a change of an object a second later, and a bookmark that confirms it.
func (r *run) change(content string) {
	r.t.Helper()
	r.n++
	r.now = r.now.Add(time.Second)
	id := &event.Identity{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "one", UID: "u", ResourceVersion: fmt.Sprint(r.n)}
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","namespace":"a","resourceVersion":"%d","uid":"u"},"data":{"k":%q}}`, r.n, content)
	r.deliver(event.Event{Type: event.Modified, Target: configMaps, Object: event.NewObject(id, text), Time: r.now})
	r.deliver(event.Event{Type: event.Bookmark, Target: configMaps, Time: r.now, Heard: r.now})
}

func (r *run) end() {
	r.t.Helper()
	if err := r.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// serve serves a directory and returns a client for it. withhold returns why a segment of a run is withheld, and nil withholds
// none. If wrap is not nil, the server uses the handler that it returns.
func serve(t *testing.T, dir string, withhold func(recording.RunInfo) string, wrap func(http.Handler) http.Handler) *remote.Client {
	t.Helper()
	var handler http.Handler = &remote.Handler{
		ListRecordings: func() ([]recording.ClusterRecording, error) {
			return []recording.ClusterRecording{{Store: recording.Dir(dir)}}, nil
		},
		WithholdReason: func(_ string, of recording.Segment) string {
			if withhold == nil {
				return ""
			}
			return withhold(*of.RunInfo)
		},
	}
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &remote.Client{URL: address, Transport: &http.Transport{}, Token: "secret"}
}

// storeOf returns the Store of the only recording of a server.
func storeOf(t *testing.T, c *remote.Client) recording.Store {
	t.Helper()
	recordings, err := c.ListRecordings(t.Context())
	if err != nil || len(recordings) != 1 {
		t.Fatalf("got recordings %v, %v, want one", recordings, err)
	}
	return recordings[0].Store
}

// replay returns the events between two times as text, and their proof.
func replay(t *testing.T, store recording.Store, from, to time.Time) (text string, p *recording.Proof, err error) {
	t.Helper()
	r, err := recording.Read(t.Context(), store)
	if err != nil {
		return "", nil, err
	}
	var all strings.Builder
	q := recording.Query{Targets: []event.Target{configMaps}, From: from, To: to}
	p, err = r.Replay(t.Context(), q, event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for _, e := range batch {
			fmt.Fprint(&all, e.Type, e.Time.UTC())
			if !e.Type.IsStatus() {
				fmt.Fprintln(&all, e.Object.Raw())
			}
		}
		return nil
	}))
	return all.String(), p, err
}

// noise returns a text that does not compress well, and is different for each n.
func noise(n int) string {
	var text strings.Builder
	for i := range uint64(40) {
		fmt.Fprintf(&text, "%016x", (i+1+uint64(n)*40)*0x9E3779B97F4A7C15)
	}
	return text.String()
}

// sizeOf returns the size and the number of the segments in a directory.
func sizeOf(t *testing.T, dir string) (bytes int64, segments int) {
	t.Helper()
	all, err := recording.Dir(dir).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		bytes += one.Size
	}
	return bytes, len(all)
}

// TestRemoteReplay checks that a remote recording replays the same events as the directory, and that a query for a short period
// does not fetch the whole recording.
func TestRemoteReplay(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir, "", begin)
	for n := range 45_000 {
		r.change(noise(n))
	}
	defer r.end()
	size, segments := sizeOf(t, dir)
	if segments < 3 {
		t.Fatalf("got %d segments with %d bytes, want at least 3", segments, size)
	}
	client := serve(t, dir, nil, nil)
	store := storeOf(t, client)
	for _, span := range [][2]time.Duration{{0, 0}, {time.Hour, time.Hour + time.Minute}, {10 * time.Hour, 10*time.Hour + time.Minute}, {12 * time.Hour, 0}} {
		from, to := begin.Add(span[0]), begin.Add(span[1])
		if span[1] == 0 {
			to = time.Time{}
		}
		before := client.BytesReceived()
		got, proof, err := replay(t, store, from, to)
		if err != nil {
			t.Fatal(err)
		}
		want, wantProof, err := replay(t, recording.Dir(dir), from, to)
		if err != nil || got != want || proof.IsComplete() != wantProof.IsComplete() || !proof.To.Equal(wantProof.To) {
			t.Errorf("%v: got %d bytes of events with proof %v, want %d bytes with %v; %v", span, len(got), proof, len(want), wantProof, err)
		}
		fetched := client.BytesReceived() - before
		t.Logf("%v: fetched %d of %d bytes in %d segments", span, fetched, size, segments)
		if span[1] != 0 && fetched > size/2 {
			t.Errorf("%v: fetched %d of %d bytes, want at most half", span, fetched, size)
		}
	}
}

// TestGrowingSegment checks that repeated queries return new events, and fetch only new bytes of a segment that is being written.
func TestGrowingSegment(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir, "", begin)
	for n := range 2000 {
		r.change(noise(n))
	}
	client := serve(t, dir, nil, nil)
	store := storeOf(t, client)
	if _, p, err := replay(t, store, begin, time.Time{}); err != nil || !p.To.After(begin.Add(30*time.Minute)) {
		t.Fatalf("first query: got proof %v, %v", p, err)
	}
	size, _ := sizeOf(t, dir)
	before := client.BytesReceived()
	for n := range 100 {
		r.change(noise(-n))
	}
	_, p, err := replay(t, store, begin.Add(2*time.Second), time.Time{})
	if err != nil || !p.To.After(begin.Add(34*time.Minute)) || !p.IsComplete() {
		t.Errorf("second query: got proof %v, %v, want a complete one that includes the new events", p, err)
	}
	if fetched := client.BytesReceived() - before; fetched > size/2 {
		t.Errorf("second query: fetched %d bytes of a segment of %d bytes, want at most half", fetched, size)
	}
	before = client.BytesReceived()
	r.end() // completes the segment, whose start the client has cached
	if got, _, err := replay(t, store, begin, time.Time{}); err != nil || strings.Count(got, "MODIFIED") != 2100 {
		t.Errorf("complete segment: got %d changes, %v, want 2100", strings.Count(got, "MODIFIED"), err)
	}
	if fetched := client.BytesReceived() - before; fetched > size/2 {
		t.Errorf("complete segment: fetched %d of %d bytes, want at most half", fetched, size)
	}
}

// TestRewrittenSegment checks that queries work after a Recorder has rewritten a segment whose start the client has cached. A
// Recorder does that if the previous process was killed.
func TestRewrittenSegment(t *testing.T) {
	for _, bytes := range []string{"fewer", "more"} {
		t.Run(bytes, func(t *testing.T) {
			dir := t.TempDir()
			r := newRun(t, dir, "", begin)
			for n := range 200 {
				r.change(noise(n))
			}
			store := storeOf(t, serve(t, dir, nil, nil))
			if got, _, err := replay(t, store, begin, time.Time{}); err != nil || strings.Count(got, "MODIFIED") != 200 {
				t.Fatalf("first query: got %d changes, %v, want 200", strings.Count(got, "MODIFIED"), err)
			}
			for n := range map[string]int{"fewer": 0, "more": 200}[bytes] {
				r.change(noise(-n))
			}
			killed := t.TempDir()
			if err := os.CopyFS(killed, os.DirFS(dir)); err != nil { // as if the process was killed now
				t.Fatal(err)
			}
			newRun(t, killed, "", r.now.Add(time.Minute)).end()
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(killed, dir); err != nil {
				t.Fatal(err)
			}
			local, _, err := replay(t, recording.Dir(dir), begin, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			got, p, err := replay(t, store, begin, time.Time{})
			if err != nil || len(p.Damage) > 0 || got != local {
				t.Errorf("got %d changes with damage %v, %v, want %d changes", strings.Count(got, "MODIFIED"), p.Damage, err, strings.Count(local, "MODIFIED"))
			}
		})
	}
}

// TestBoundedReads checks that the Handler reads and writes large segments in small parts, and does not read complete segments
// again for each listing.
func TestBoundedReads(t *testing.T) {
	dir := t.TempDir()
	for n := range 2 {
		r := newRun(t, dir, "", begin.Add(time.Duration(n)*time.Hour))
		r.change("x")
		r.end()
	}
	files, err := filepath.Glob(filepath.Join(dir, "00000001-*"))
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	last, err := filepath.Glob(filepath.Join(dir, "00000002-*"))
	if err := cmp.Or(err, os.Truncate(last[0], size)); err != nil {
		t.Fatal(err)
	}
	store := &countingStore{Dir: recording.Dir(dir), reads: map[string]int{}}
	handler := &remote.Handler{
		ListRecordings: func() ([]recording.ClusterRecording, error) { return []recording.ClusterRecording{{Store: store}}, nil },
		WithholdReason: func(string, recording.Segment) string { return "" },
	}
	for range 3 {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}
	if n := store.reads[filepath.Base(files[0])]; n != 3 { // the start, the size of the index, and the index
		t.Errorf("the complete segment was read %d times, want 3", n)
	}
	response := &countingWriter{ResponseWriter: httptest.NewRecorder()}
	handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/?segment="+filepath.Base(last[0]), nil))
	if response.total != size || response.largest > 1<<20 {
		t.Errorf("got %d bytes, at most %d at once, want %d, at most %d at once", response.total, response.largest, size, 1<<20)
	}
	if n := store.largest; n > 1<<20 {
		t.Errorf("read %d bytes at once, want at most %d", n, 1<<20)
	}
}

// countingStore is a Dir that counts what is read.
type countingStore struct {
	recording.Dir
	reads   map[string]int // number of reads by file name
	largest int            // bytes of the largest read
}

func (s *countingStore) Read(ctx context.Context, name string, from, to int64) ([]byte, error) {
	s.reads[name]++
	data, err := s.Dir.Read(ctx, name, from, to)
	s.largest = max(s.largest, len(data))
	return data, err
}

// countingWriter is a ResponseWriter that counts the written bytes.
type countingWriter struct {
	http.ResponseWriter
	total, largest int // bytes in all, and bytes of the largest write
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.total += len(p)
	w.largest = max(w.largest, len(p))
	return len(p), nil
}

// TestResponseLimits checks that a client reads no more of a response than a recording can have, whatever the server states, and
// that list elements that are not segments are an error.
func TestResponseLimits(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir, "", begin)
	r.change("x")
	r.end()
	for name, c := range map[string]struct {
		isList bool
		answer func(w http.ResponseWriter)
		want   string
	}{
		"a segment of 1 TB": {false, func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", strconv.Itoa(1<<40))
			w.Write(make([]byte, 1<<20))
		}, "at most"},
		"a list of 1 TB": {true, func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", strconv.Itoa(1<<40))
			w.Write(make([]byte, 1<<20))
		}, "at most"},
		"a list of numbers": {true, func(w http.ResponseWriter) {
			io.WriteString(w, `{"version":1,"parts":[{"segments":[`+strings.Repeat("0,", 1<<20)+`0]}]}`)
		}, "not a dwatch recording"},
		"a list of empty segments": {true, func(w http.ResponseWriter) {
			io.WriteString(w, `{"version":1,"parts":[{"segments":[`+strings.Repeat("{},", 1<<20)+`{}]}]}`)
		}, "not a dwatch recording"},
		"a list of clusters": {true, func(w http.ResponseWriter) {
			io.WriteString(w, `{"version":1,"parts":[`+strings.Repeat("{},", 1<<20)+`{}]}`)
		}, "not a dwatch recording"},
	} {
		client := serve(t, dir, nil, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("segment") != c.isList {
					c.answer(w)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		parts, err := client.ListRecordings(t.Context())
		if err == nil {
			_, _, err = replay(t, parts[0].Store, begin, time.Time{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if got := client.BytesReceived(); got > 8<<20 {
			t.Errorf("%s: received %d bytes, want at most %d", name, got, 8<<20)
		}
	}
}

// TestEmptyDirectory checks that a recording without segments can be listed.
func TestEmptyDirectory(t *testing.T) {
	if store := storeOf(t, serve(t, t.TempDir(), nil, nil)); store == nil {
		t.Error("got no store, want an empty one")
	}
}

// TestConnectionLost checks that a truncated response is an error, wherever the connection is lost.
func TestConnectionLost(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir, "", begin)
	for n := range 2000 {
		r.change(noise(n))
	}
	r.end()
	for _, after := range []int{0, 1, 1000, 100_000} {
		truncate := func(segments bool) func(http.Handler) http.Handler {
			return func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Has("segment") == segments {
						w = &truncatingWriter{w, after}
					}
					next.ServeHTTP(w, r)
				})
			}
		}
		if _, err := serve(t, dir, nil, truncate(false)).ListRecordings(t.Context()); err == nil && after < 1000 {
			t.Errorf("list truncated after %d bytes: got no error", after)
		}
		if _, p, err := replay(t, storeOf(t, serve(t, dir, nil, truncate(true))), begin, time.Time{}); err == nil {
			t.Errorf("segment truncated after %d bytes: got proof %v and no error", after, p)
		} else if !strings.Contains(err.Error(), "the connection was lost") && after > 0 {
			t.Errorf("segment truncated after %d bytes: got %v, want a lost connection", after, err)
		}
	}
}

// truncatingWriter aborts the response after some bytes.
type truncatingWriter struct {
	http.ResponseWriter
	left int
}

func (c *truncatingWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *truncatingWriter) Write(p []byte) (int, error) {
	if len(p) < c.left {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	c.ResponseWriter.Write(p[:c.left])
	http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// TestSegmentRemoved checks that a segment that is removed after it was listed is a gap, and no error.
func TestSegmentRemoved(t *testing.T) {
	dir := t.TempDir()
	for n := range 3 {
		r := newRun(t, dir, "", begin.Add(time.Duration(n)*time.Hour))
		r.change("x")
		r.end()
	}
	read, err := recording.Read(t.Context(), storeOf(t, serve(t, dir, nil, nil)))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "00000002-*"))
	if err := cmp.Or(err, os.Remove(files[0])); err != nil {
		t.Fatal(err)
	}
	p, err := read.Replay(t.Context(), recording.Query{Targets: []event.Target{configMaps}, From: begin, To: begin.Add(150 * time.Minute)}, event.SinkFunc(func(context.Context, []event.Event) error { return nil }))
	if err != nil || p.IsComplete() {
		t.Errorf("got proof %v, %v, want a gap and no error", p, err)
	}
}

// TestNotFoundByProxy checks that a 404 response of a proxy does not mean that a segment was removed.
func TestNotFoundByProxy(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir, "", begin)
	r.change("x")
	r.end()
	store := storeOf(t, serve(t, dir, nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("segment") {
				http.Error(w, `{"error":"no such route"}`, http.StatusNotFound)
				return
			}
			next.ServeHTTP(w, r)
		})
	}))
	if _, p, err := replay(t, store, begin, time.Time{}); err == nil || !strings.HasPrefix(err.Error(), "the server responded 404 Not Found") {
		t.Errorf("got proof %v, %v, want the response as error", p, err)
	}
}

// TestUnreadableDirectory checks that the Handler reports an unreadable directory, and not a removed segment.
func TestUnreadableDirectory(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir, "", begin)
	r.change("x")
	r.end()
	store := &failingStore{Store: recording.Dir(dir)}
	handler := &remote.Handler{
		ListRecordings: func() ([]recording.ClusterRecording, error) { return []recording.ClusterRecording{{Store: store}}, nil },
		WithholdReason: func(string, recording.Segment) string { return "" },
	}
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/?segment=00000001-20260131T020000Z.zst", nil))
	if response.Code != http.StatusInternalServerError || !strings.Contains(response.Body.String(), "the recording can't be read") {
		t.Errorf("got %d %s, want %d", response.Code, response.Body, http.StatusInternalServerError)
	}
}

// failingStore is a Store that can't be listed.
type failingStore struct{ recording.Store }

func (f *failingStore) List(context.Context) ([]recording.StoredFile, error) {
	return nil, errors.New("too many open files")
}

// TestLastSegment checks that the last segment is left out without a warning while it is being created, and is reported as
// withheld if its header is damaged.
func TestLastSegment(t *testing.T) {
	dir := t.TempDir()
	for n := range 2 {
		r := newRun(t, dir, "", begin.Add(time.Duration(n)*time.Hour))
		r.change("x")
		r.end()
	}
	files, err := filepath.Glob(filepath.Join(dir, "00000002-*"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	const preamble = 8 + len("dwatch recording 1")
	for _, size := range []int{0, 4, preamble, preamble + 2, preamble + 50} {
		if err := os.WriteFile(files[0], data[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := recording.Read(t.Context(), storeOf(t, serve(t, dir, nil, nil)))
		if err != nil || len(read.Warnings()) > 0 {
			t.Errorf("with the first %d bytes: got warnings %v, %v, want none", size, read.Warnings(), err)
		}
	}
	for i := preamble + 20; i < preamble+60; i++ {
		data[i] ^= 0xff
	}
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := recording.Read(t.Context(), storeOf(t, serve(t, dir, nil, nil)))
	if err != nil || !strings.Contains(fmt.Sprint(read.Warnings()), "00000002-20260131T030000Z.zst is withheld: its header, which states the masks, can't be read") {
		t.Errorf("with a damaged header: got warnings %v, %v", read.Warnings(), err)
	}
}

// TestWithheld checks that withheld segments are listed with the reason, are a gap, and can't be requested by name.
func TestWithheld(t *testing.T) {
	dir := t.TempDir()
	for n, masks := range []string{"all", "none", "none", "all"} {
		r := newRun(t, dir, masks, begin.Add(time.Duration(n)*time.Hour))
		r.change("hunter" + masks)
		r.end()
	}
	client := serve(t, dir, func(of recording.RunInfo) string {
		if of.Masks == "none" {
			return "it masks nothing"
		}
		return ""
	}, nil)
	store := storeOf(t, client)
	got, proof, err := replay(t, store, begin.Add(time.Second), begin.Add(4*time.Hour))
	if err != nil || proof.IsComplete() || strings.Contains(got, "hunternone") || !strings.Contains(got, "hunterall") {
		t.Errorf("got events %s, proof %v, %v, want only masked events and a gap", got, proof, err)
	}
	if gaps := fmt.Sprint(proof.Gaps); !strings.Contains(gaps, "withheld: it masks nothing") {
		t.Errorf("got gaps %s, want the reason", gaps)
	}
	read, err := recording.Read(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	if warnings := fmt.Sprint(read.Warnings()); !strings.Contains(warnings, "00000002-20260131T030000Z.zst to 00000003-20260131T040000Z.zst are withheld: it masks nothing") {
		t.Errorf("got warnings %s, want one with the reason", warnings)
	}
	for _, name := range []string{"00000002-20260131T030000Z.zst", "../x.zst", ".lock", "00000009-20260131T030000Z.zst", ""} {
		if data, err := store.Read(t.Context(), name, 0, -1); err == nil && name != "" {
			t.Errorf("read %s: got %d bytes, want an error", name, len(data))
		}
	}
}

// TestForeignServer checks the errors for servers that respond with something else than a recording, or with an error.
func TestForeignServer(t *testing.T) {
	for text, want := range map[string]string{
		"hello":         "the response is not a dwatch recording",
		"{}":            "the response is not a dwatch recording",
		`{"version":9}`: "it is served by a newer dwatch, in version 9, and this one knows 1",
	} {
		client := serve(t, t.TempDir(), nil, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
		})
		if _, err := client.ListRecordings(t.Context()); fmt.Sprint(err) != want {
			t.Errorf("response %s: got %v, want %s", text, err, want)
		}
	}
	refusing := serve(t, t.TempDir(), nil, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"bad\u001b[31m\ntoken"}`)
		})
	})
	_, err := refusing.ListRecordings(t.Context())
	if refused, ok := errors.AsType[*remote.RefusedError](err); !ok || refused.StatusCode != http.StatusUnauthorized || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("refused: got %q, want a RefusedError on one line", err)
	}
}

// TestSegmentTargets checks that Segment.Targets includes targets with an object in the segment, even without a complete list,
// and targets with objects before the segment began, but not targets that were denied.
func TestSegmentTargets(t *testing.T) {
	dir := t.TempDir()
	targetsAfter := func(e event.Event) []string {
		r := newUnlistedRun(t, dir, "", begin)
		r.deliver(e)
		r.end()
		all, err := recording.ListSegments(t.Context(), recording.Dir(dir), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, key := range all[len(all)-1].Targets {
			names = append(names, key.Resource.String())
		}
		return names
	}
	if got := targetsAfter(event.Event{Type: event.Denied, Target: configMaps, Time: begin, Err: errors.New("forbidden")}); len(got) > 0 {
		t.Errorf("denied: got targets %q, want none", got)
	}
	id := &event.Identity{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "one", UID: "u", ResourceVersion: "1"}
	object := event.NewObject(id, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","namespace":"a","resourceVersion":"1","uid":"u"}}`)
	if got := targetsAfter(event.Event{Type: event.Added, Initial: true, Target: configMaps, Object: object, Time: begin}); len(got) != 1 {
		t.Errorf("an object without a complete list: got targets %q, want one", got)
	}
	if got := targetsAfter(event.Event{Type: event.Denied, Target: configMaps, Time: begin, Err: errors.New("forbidden")}); len(got) != 1 {
		t.Errorf("denied, with an object of an earlier segment: got targets %q, want one", got)
	}
}
