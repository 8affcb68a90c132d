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

// run is a run that records by a clock of its own.
type run struct {
	*recording.Recorder
	t   *testing.T
	now time.Time
	n   int
}

func newRun(t *testing.T, dir, masks string, at time.Time) *run {
	t.Helper()
	r := opened(t, dir, masks, at)
	r.deliver(event.Event{Type: event.Synced, Target: configMaps, Time: at})
	return r
}

// opened is a run of which nothing is known yet.
func opened(t *testing.T, dir, masks string, at time.Time) *run {
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

// change records a change of an object a second later, and that this was all.
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

// offered serves a directory, by way of between if that is not nil, and returns a client of it.
func offered(t *testing.T, dir string, withhold func(recording.RunInfo) string, between func(http.Handler) http.Handler) *remote.Client {
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
	if between != nil {
		handler = between(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &remote.Client{URL: address, Transport: &http.Transport{}, Token: "secret"}
}

func stored(t *testing.T, c *remote.Client) recording.Store {
	t.Helper()
	parts, err := c.ListRecordings(t.Context())
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	return parts[0].Store
}

// answer is what a recording says happened between two times.
func answer(t *testing.T, store recording.Store, from, to time.Time) (text string, p *recording.Proof, err error) {
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

func noise(n int) string {
	var text strings.Builder
	for i := range uint64(40) {
		fmt.Fprintf(&text, "%016x", (i+1+uint64(n)*40)*0x9E3779B97F4A7C15)
	}
	return text.String()
}

// sizeOf is how many bytes there are in a directory, and in how many segments.
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

// TestAnswers: what is read from afar is what is read from the directory; and of a short time only what that takes
// comes over the wire.
func TestAnswers(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir, "", begin)
	for n := range 45_000 {
		r.change(noise(n))
	}
	defer r.end()
	size, segments := sizeOf(t, dir)
	if segments < 3 {
		t.Fatalf("%d segments in %d bytes", segments, size)
	}
	client := offered(t, dir, nil, nil)
	far := stored(t, client)
	for _, span := range [][2]time.Duration{{0, 0}, {time.Hour, time.Hour + time.Minute}, {10 * time.Hour, 10*time.Hour + time.Minute}, {12 * time.Hour, 0}} {
		from, to := begin.Add(span[0]), begin.Add(span[1])
		if span[1] == 0 {
			to = time.Time{}
		}
		before := client.BytesReceived()
		got, proof, err := answer(t, far, from, to)
		if err != nil {
			t.Fatal(err)
		}
		want, wantProof, err := answer(t, recording.Dir(dir), from, to)
		if err != nil || got != want || proof.IsComplete() != wantProof.IsComplete() || !proof.To.Equal(wantProof.To) {
			t.Errorf("%v: %d and %d bytes, %v and %v, %v", span, len(got), len(want), proof, wantProof, err)
		}
		fetched := client.BytesReceived() - before
		t.Logf("%v: %d of %d bytes in %d segments", span, fetched, size, segments)
		if span[1] != 0 && fetched > size/2 {
			t.Errorf("%v takes %d of %d bytes", span, fetched, size)
		}
	}
}

// TestGrows: who asks again gets what came meanwhile, and only that.
func TestGrows(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir, "", begin)
	for n := range 2000 {
		r.change(noise(n))
	}
	client := offered(t, dir, nil, nil)
	far := stored(t, client)
	if _, p, err := answer(t, far, begin, time.Time{}); err != nil || !p.To.After(begin.Add(30*time.Minute)) {
		t.Fatal(p, err)
	}
	size, _ := sizeOf(t, dir)
	before := client.BytesReceived()
	for n := range 100 {
		r.change(noise(-n))
	}
	_, p, err := answer(t, far, begin.Add(2*time.Second), time.Time{})
	if err != nil || !p.To.After(begin.Add(34*time.Minute)) || !p.IsComplete() {
		t.Error(p, err)
	}
	if again := client.BytesReceived() - before; again > size/2 {
		t.Errorf("%d bytes of %d have come again", again, size)
	}
	before = client.BytesReceived()
	r.end() // it has its end now, and what is held is its begin
	if got, _, err := answer(t, far, begin, time.Time{}); err != nil || strings.Count(got, "MODIFIED") != 2100 {
		t.Error(strings.Count(got, "MODIFIED"), err)
	}
	if again := client.BytesReceived() - before; again > size/2 {
		t.Errorf("at its end %d bytes of %d have come again", again, size)
	}
}

// TestGivesInParts: a segment is not held to be given, and what is over is not read for each listing.
func TestGivesInParts(t *testing.T) {
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
	store := &reading{Dir: recording.Dir(dir), read: map[string]int{}}
	offer := &remote.Handler{
		ListRecordings: func() ([]recording.ClusterRecording, error) { return []recording.ClusterRecording{{Store: store}}, nil },
		WithholdReason: func(string, recording.Segment) string { return "" },
	}
	for range 3 {
		offer.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}
	if n := store.read[filepath.Base(files[0])]; n != 3 { // its begin, where its index begins, and that
		t.Errorf("the segment that is over is read %d times", n)
	}
	answer := &largest{ResponseWriter: httptest.NewRecorder()}
	offer.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/?segment="+filepath.Base(last[0]), nil))
	if answer.total != size || answer.most > 1<<20 {
		t.Errorf("%d of %d bytes, %d at once", answer.total, size, answer.most)
	}
	if n := store.most; n > 1<<20 {
		t.Errorf("%d bytes are read at once", n)
	}
}

// reading is a directory of which is known what was read.
type reading struct {
	recording.Dir
	read map[string]int // so often, by name
	most int            // bytes at once
}

func (r *reading) Read(ctx context.Context, name string, from, to int64) ([]byte, error) {
	r.read[name]++
	data, err := r.Dir.Read(ctx, name, from, to)
	r.most = max(r.most, len(data))
	return data, err
}

// largest is a ResponseWriter of which is known how much is written at once.
type largest struct {
	http.ResponseWriter
	total, most int
}

func (l *largest) Write(p []byte) (int, error) {
	l.total += len(p)
	l.most = max(l.most, len(p))
	return len(p), nil
}

// TestResponseLimits checks that a client takes no more of a response than a recording can have, whatever the server
// states, and that elements of the list that are no segments fail.
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
		client := offered(t, dir, nil, func(next http.Handler) http.Handler {
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
			_, _, err = answer(t, parts[0].Store, begin, time.Time{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if got := client.BytesReceived(); got > 8<<20 {
			t.Errorf("%s: received %d bytes", name, got)
		}
	}
}

// TestEmptyDirectory checks that a recording without segments can be listed.
func TestEmptyDirectory(t *testing.T) {
	if store := stored(t, offered(t, t.TempDir(), nil, nil)); store == nil {
		t.Error("there is no recording")
	}
}

// TestBroken: what did not come whole is an error, wherever the connection breaks.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir, "", begin)
	for n := range 2000 {
		r.change(noise(n))
	}
	r.end()
	for _, after := range []int{0, 1, 1000, 100_000} {
		cut := func(segments bool) func(http.Handler) http.Handler {
			return func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Has("segment") == segments {
						w = &cutWriter{w, after}
					}
					next.ServeHTTP(w, r)
				})
			}
		}
		if _, err := offered(t, dir, nil, cut(false)).ListRecordings(t.Context()); err == nil && after < 1000 {
			t.Errorf("after %d bytes of the list: nothing is wrong", after)
		}
		if _, p, err := answer(t, stored(t, offered(t, dir, nil, cut(true))), begin, time.Time{}); err == nil {
			t.Errorf("after %d bytes of a segment: %v", after, p)
		} else if !strings.Contains(err.Error(), "the connection was lost") && after > 0 {
			t.Error(err)
		}
	}
}

// cutWriter breaks its connection after some bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (c *cutWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutWriter) Write(p []byte) (int, error) {
	if len(p) < c.left {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	c.ResponseWriter.Write(p[:c.left])
	http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// TestDropped: a segment that is dropped while it is read is missing, and what was in it is not known.
func TestDropped(t *testing.T) {
	dir := t.TempDir()
	for n := range 3 {
		r := newRun(t, dir, "", begin.Add(time.Duration(n)*time.Hour))
		r.change("x")
		r.end()
	}
	far := stored(t, offered(t, dir, nil, nil))
	read, err := recording.Read(t.Context(), far)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "00000002-*"))
	if err := cmp.Or(err, os.Remove(files[0])); err != nil {
		t.Fatal(err)
	}
	p, err := read.Replay(t.Context(), recording.Query{Targets: []event.Target{configMaps}, From: begin, To: begin.Add(150 * time.Minute)}, event.SinkFunc(func(context.Context, []event.Event) error { return nil }))
	if err != nil || p.IsComplete() {
		t.Error(p, err)
	}
}

// TestNotFound: a segment that is not found on the way to who has it has not been dropped.
func TestNotFound(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir, "", begin)
	r.change("x")
	r.end()
	far := stored(t, offered(t, dir, nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("segment") {
				http.Error(w, `{"error":"no such route"}`, http.StatusNotFound)
				return
			}
			next.ServeHTTP(w, r)
		})
	}))
	if _, p, err := answer(t, far, begin, time.Time{}); err == nil || !strings.HasPrefix(err.Error(), "the server responded 404 Not Found") {
		t.Error(p, err)
	}
}

// TestUnreadable: that a segment can't be read is no word of it having been dropped.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir, "", begin)
	r.change("x")
	r.end()
	store := &failing{Store: recording.Dir(dir)}
	offer := &remote.Handler{
		ListRecordings: func() ([]recording.ClusterRecording, error) { return []recording.ClusterRecording{{Store: store}}, nil },
		WithholdReason: func(string, recording.Segment) string { return "" },
	}
	answer := httptest.NewRecorder()
	offer.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/?segment=00000001-20260131T020000Z.zst", nil))
	if answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body.String(), "the recording can't be read") {
		t.Error(answer.Code, answer.Body)
	}
}

// failing is a Store that can't be listed.
type failing struct{ recording.Store }

func (f *failing) List(context.Context) ([]recording.StoredFile, error) {
	return nil, errors.New("too many open files")
}

// TestDamagedLast: the last segment is listed with damage, too, in which nothing of it can be read; one that has only
// begun is not.
func TestDamagedLast(t *testing.T) {
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
		read, err := recording.Read(t.Context(), stored(t, offered(t, dir, nil, nil)))
		if err != nil || len(read.Warnings()) > 0 {
			t.Errorf("with its first %d bytes: %v, %v", size, read.Warnings(), err)
		}
	}
	for i := preamble + 20; i < preamble+60; i++ {
		data[i] ^= 0xff
	}
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := recording.Read(t.Context(), stored(t, offered(t, dir, nil, nil)))
	if err != nil || !strings.Contains(fmt.Sprint(read.Warnings()), "00000002-20260131T030000Z.zst is withheld: its header, which states the masks, can't be read") {
		t.Error(read.Warnings(), err)
	}
}

// TestWithheld: what may not be given is named, with the reason; it can't be had by its name, and what was in
// it is not known.
func TestWithheld(t *testing.T) {
	dir := t.TempDir()
	for n, masks := range []string{"all", "none", "none", "all"} {
		r := newRun(t, dir, masks, begin.Add(time.Duration(n)*time.Hour))
		r.change("hunter" + masks)
		r.end()
	}
	client := offered(t, dir, func(of recording.RunInfo) string {
		if of.Masks == "none" {
			return "it hides nothing"
		}
		return ""
	}, nil)
	far := stored(t, client)
	got, proof, err := answer(t, far, begin.Add(time.Second), begin.Add(4*time.Hour))
	if err != nil || proof.IsComplete() || strings.Contains(got, "hunternone") || !strings.Contains(got, "hunterall") {
		t.Error(got, proof, err)
	}
	said := fmt.Sprint(proof.Gaps)
	if !strings.Contains(said, "withheld: it hides nothing") {
		t.Error(said)
	}
	read, err := recording.Read(t.Context(), far)
	if err != nil {
		t.Fatal(err)
	}
	if notes := fmt.Sprint(read.Warnings()); !strings.Contains(notes, "00000002-20260131T030000Z.zst to 00000003-20260131T040000Z.zst are withheld: it hides nothing") {
		t.Error(notes)
	}
	for _, name := range []string{"00000002-20260131T030000Z.zst", "../x.zst", ".lock", "00000009-20260131T030000Z.zst", ""} {
		if data, err := far.Read(t.Context(), name, 0, -1); err == nil && name != "" {
			t.Errorf("%s: %d bytes", name, len(data))
		}
	}
}

// TestForeign: who answers something else is no recording.
func TestForeign(t *testing.T) {
	for text, want := range map[string]string{
		"hello":         "the response is not a dwatch recording",
		"{}":            "the response is not a dwatch recording",
		`{"version":9}`: "it is served by a newer dwatch, in version 9, and this one knows 1",
	} {
		client := offered(t, t.TempDir(), nil, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
		})
		if _, err := client.ListRecordings(t.Context()); fmt.Sprint(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	refusing := offered(t, t.TempDir(), nil, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"bad\u001b[31m\ntoken"}`)
		})
	})
	_, err := refusing.ListRecordings(t.Context())
	if refused, ok := errors.AsType[*remote.RefusedError](err); !ok || refused.StatusCode != http.StatusUnauthorized || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("%q", err)
	}
}

// TestHolds: a segment says of which targets it has objects, also of those that were never known to be all, and of those
// that were there when it began; but not of those that were denied.
func TestHolds(t *testing.T) {
	dir := t.TempDir()
	of := func(e event.Event) []string {
		r := opened(t, dir, "", begin)
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
	if got := of(event.Event{Type: event.Denied, Target: configMaps, Time: begin, Err: errors.New("forbidden")}); len(got) > 0 {
		t.Errorf("what is denied: %q", got)
	}
	id := &event.Identity{APIVersion: "v1", Kind: "ConfigMap", Namespace: "a", Name: "one", UID: "u", ResourceVersion: "1"}
	object := event.NewObject(id, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","namespace":"a","resourceVersion":"1","uid":"u"}}`)
	if got := of(event.Event{Type: event.Added, Initial: true, Target: configMaps, Object: object, Time: begin}); len(got) != 1 {
		t.Errorf("some object: %q", got)
	}
	if got := of(event.Event{Type: event.Denied, Target: configMaps, Time: begin, Err: errors.New("forbidden")}); len(got) != 1 {
		t.Errorf("what was there when it began: %q", got)
	}
}
