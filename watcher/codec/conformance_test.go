package codec_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"dwatch/mapper"
)

// watchable returns all resources of the test server that can be watched.
func watchable(t *testing.T) []schema.GroupVersionResource {
	t.Helper()
	if err := createHostile(); err != nil {
		t.Fatal(err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config(t, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	known, err := mapper.New(client).Resources(t.Context(), mapper.Watch)
	if err != nil {
		t.Fatal(err)
	}
	var resources []schema.GroupVersionResource
	for _, r := range known {
		resources = append(resources, r.Mapping.Resource)
	}
	return resources
}

// TestConformance compares raw objects of every type with those of the stock client, from the
// same bytes of a real API server.
func TestConformance(t *testing.T) {
	resources := watchable(t)
	if len(resources) < 50 {
		t.Errorf("only %d types", len(resources))
	}
	var none []string
	for _, resource := range resources {
		t.Run(resource.GroupResource().String(), func(t *testing.T) {
			c := newClients(t, "admin")
			n := c.compareLists(t, resource, metav1.ListOptions{})
			if n == 0 {
				none = append(none, resource.GroupResource().String())
			}
			c.compareLists(t, resource, metav1.ListOptions{Limit: 2})
			if watched := c.compareWatches(t, resource, initialEvents); watched < n {
				t.Errorf("%d initial events of %d objects", watched, n)
			}
		})
	}
	if want := []string(nil); !slices.Equal(none, want) {
		t.Errorf("not compared, as there is no object of it: %v, want %v", none, want)
	}
}

// TestIndented checks a server that indents responses. The real server indents lists. For watches,
// the test indents the recording.
func TestIndented(t *testing.T) {
	if err := createHostile(); err != nil {
		t.Fatal(err)
	}
	for _, resource := range []schema.GroupVersionResource{pods, untamed, flocks} {
		c := newClients(t, "admin")
		c.tape.edit = func(r *http.Request) {
			query := r.URL.Query()
			query.Set("pretty", "true")
			r.URL.RawQuery = query.Encode()
		}
		c.compareLists(t, resource, metav1.ListOptions{})
		if text := c.tape.only(t).body.Bytes(); !bytes.Contains(text, []byte("\n  ")) {
			t.Errorf("%s: not indented: %.100q", resource.Resource, text)
		}
		c.compareLists(t, resource, metav1.ListOptions{Limit: 2})
		c.compareWatches(t, resource, initialEvents)
		c.tape.dub = indent
		c.compareWatches(t, resource, initialEvents)
	}
}

// indent indents each JSON value in text.
func indent(text []byte) []byte {
	var indented bytes.Buffer
	for line := range bytes.Lines(text) {
		json.Indent(&indented, line, "", "\t") // compare reports invalid values
	}
	return indented.Bytes()
}

// TestGzip checks large lists, which are compressed.
func TestGzip(t *testing.T) {
	c := newClients(t, "admin")
	if n := c.compareLists(t, pods, metav1.ListOptions{}); n < 30 {
		t.Errorf("%d pods", n)
	}
	if _, err := c.drop.Resource(pods).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if recorded := c.tape.only(t); !recorded.response.Uncompressed {
		t.Errorf("it came as it is, %d bytes", recorded.body.Len())
	}
}

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// compareLists compares the lists of both clients page by page, and returns the number of items.
func (c clients) compareLists(t *testing.T, r schema.GroupVersionResource, options metav1.ListOptions) int {
	t.Helper()
	var n int
	for {
		c.tape.erase()
		lists := make([]*unstructured.UnstructuredList, 0, 3)
		for _, client := range []dynamic.Interface{c.drop, c.keep, c.stock} {
			list, err := client.Resource(r).List(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			lists = append(lists, list)
		}
		c.compareList(t, lists[2], lists[0], false)
		c.compareList(t, lists[2], lists[1], true)
		n += len(lists[2].Items)
		if options.Continue = lists[2].GetContinue(); options.Continue == "" {
			return n
		}
	}
}

func (c clients) compareList(t *testing.T, stock, got *unstructured.UnstructuredList, managedFields bool) {
	t.Helper()
	if diff := cmp.Diff(stock.Object, got.Object); diff != "" {
		t.Errorf("the stock list (-), the raw list (+):\n%s", diff)
	}
	var raw struct{ Items []json.RawMessage }
	c.tape.mu.Lock()
	defer c.tape.mu.Unlock()
	for _, recorded := range c.tape.recorded {
		if err := json.Unmarshal(recorded.body.Bytes(), &raw); err != nil {
			t.Fatal(err)
		}
	}
	if len(stock.Items) != len(got.Items) || len(raw.Items) != len(got.Items) {
		t.Fatalf("%d items, want %d", len(got.Items), len(stock.Items))
	}
	for i := range stock.Items {
		compare(t, raw.Items[i], &stock.Items[i], &got.Items[i], managedFields)
	}
}

// initialEvents requests all objects, followed by a bookmark.
var initialEvents = metav1.ListOptions{
	SendInitialEvents:    new(true),
	ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	AllowWatchBookmarks:  true,
}

// compareWatches compares the events of both clients up to the first bookmark or the end of the
// watch, and returns the number of events with objects.
func (c clients) compareWatches(t *testing.T, r schema.GroupVersionResource, options metav1.ListOptions) int {
	t.Helper()
	c.tape.erase()
	dropped := watchUntilBookmark(t, c.drop, r, options)
	kept := watchUntilBookmark(t, c.keep, r, options)
	stock := watchUntilBookmark(t, c.stock, r, options)
	raw := c.tape.events(t)
	if len(dropped) != len(stock) || len(kept) != len(stock) || len(raw) < len(stock) {
		t.Fatalf("%d, %d events, want %d", len(dropped), len(kept), len(stock))
	}
	n := 0
	for i, e := range stock {
		if dropped[i].Type != e.Type || kept[i].Type != e.Type {
			t.Errorf("%s, %s, want %s", dropped[i].Type, kept[i].Type, e.Type)
		}
		full, ok := e.Object.(*unstructured.Unstructured)
		if !ok { // a Status
			if !reflect.DeepEqual(e.Object, dropped[i].Object) {
				t.Errorf("stock (-), raw (+):\n%s", cmp.Diff(e.Object, dropped[i].Object))
			}
			continue
		}
		if got := dropped[i].Object.(*unstructured.Unstructured); full.GetName() == "" && !maps(full, got) {
			t.Errorf("annotations %v, want %v", got.GetAnnotations(), full.GetAnnotations())
		}
		compare(t, raw[i], full, dropped[i].Object.(*unstructured.Unstructured), false)
		compare(t, raw[i], full, kept[i].Object.(*unstructured.Unstructured), true)
		n++
	}
	return n
}

func maps(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(a.GetAnnotations(), b.GetAnnotations())
}

// events returns the objects of the recorded events.
func (t *tape) events(tb testing.TB) (objects []json.RawMessage) {
	tb.Helper()
	recorded := t.only(tb)
	body := recorded.play(&http.Request{URL: recorded.response.Request.URL}, t.dub).Body
	for decoder := json.NewDecoder(body); ; {
		var event struct{ Object json.RawMessage }
		err := decoder.Decode(&event)
		if err == io.EOF {
			return objects
		}
		if err != nil {
			tb.Fatal(err)
		}
		objects = append(objects, event.Object)
	}
}

func watchUntilBookmark(t *testing.T, client dynamic.Interface, r schema.GroupVersionResource, options metav1.ListOptions) (events []watch.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w, err := client.Resource(r).Watch(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		events = append(events, e)
		if e.Type == watch.Bookmark {
			break
		}
	}
	if ctx.Err() != nil {
		t.Errorf("no bookmark after %d events", len(events))
	}
	return events
}
