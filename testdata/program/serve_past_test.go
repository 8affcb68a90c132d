//go:build unix

package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dwatch/cli/fail"
)

// recordedEU is complete from 02:00:01 to 02:30, and recordedUS has a gap from 02:00:02 to 02:08.
const (
	recordedEU = `BEFORE=2026-01-31T02:01:00Z
BETWEEN=2026-01-31T02:04:00Z
LATER=2026-01-31T02:15:00Z
{"type":"ADDED","time":"2026-01-31T02:00:01.000Z","initial":true,"object":{"apiVersion":"v1","data":{"k":"eu1"},"kind":"ConfigMap","metadata":{"name":"one","namespace":"a","resourceVersion":"10","uid":"u-one"}}}
{"type":"SYNCED","time":"2026-01-31T02:00:01.000Z","resource":"configmaps.v1.","namespace":"a","count":1}
{"type":"BOOKMARK","time":"2026-01-31T02:00:02.000Z","resource":"configmaps.v1.","namespace":"a","heard":"2026-01-31T02:00:02.000Z"}
{"type":"BOOKMARK","time":"2026-01-31T02:09:59.000Z","resource":"configmaps.v1.","namespace":"a","heard":"2026-01-31T02:09:59.000Z"}
{"type":"MODIFIED","time":"2026-01-31T02:10:00.000Z","object":{"apiVersion":"v1","data":{"k":"eu2"},"kind":"ConfigMap","metadata":{"name":"one","namespace":"a","resourceVersion":"20","uid":"u-one"}}}
{"type":"BOOKMARK","time":"2026-01-31T02:30:00.000Z","resource":"configmaps.v1.","namespace":"a","heard":"2026-01-31T02:30:00.000Z"}
`
	recordedUS = `{"type":"ADDED","time":"2026-01-31T02:00:01.000Z","initial":true,"object":{"apiVersion":"v1","data":{"k":"us1"},"kind":"ConfigMap","metadata":{"name":"one","namespace":"a","resourceVersion":"10","uid":"u-one"}}}
{"type":"ADDED","time":"2026-01-31T02:00:01.000Z","initial":true,"object":{"apiVersion":"v1","data":{"k":"us"},"kind":"ConfigMap","metadata":{"name":"two","namespace":"a","resourceVersion":"11","uid":"u-two"}}}
{"type":"SYNCED","time":"2026-01-31T02:00:01.000Z","resource":"configmaps.v1.","namespace":"a","count":2}
{"type":"BOOKMARK","time":"2026-01-31T02:00:02.000Z","resource":"configmaps.v1.","namespace":"a","heard":"2026-01-31T02:00:02.000Z"}
{"type":"MODIFIED","time":"2026-01-31T02:05:00.000Z","object":{"apiVersion":"v1","data":{"k":"us2"},"kind":"ConfigMap","metadata":{"name":"one","namespace":"a","resourceVersion":"21","uid":"u-one"}}}
{"type":"BOOKMARK","time":"2026-01-31T02:08:00.000Z","resource":"configmaps.v1.","namespace":"a","heard":"2026-01-31T02:08:00.000Z"}
{"type":"BOOKMARK","time":"2026-01-31T02:19:59.000Z","resource":"configmaps.v1.","namespace":"a","heard":"2026-01-31T02:19:59.000Z"}
{"type":"DELETED","time":"2026-01-31T02:20:00.000Z","object":{"apiVersion":"v1","data":{"k":"us"},"kind":"ConfigMap","metadata":{"name":"two","namespace":"a","resourceVersion":"30","uid":"u-two"}}}
{"type":"BOOKMARK","time":"2026-01-31T02:30:00.000Z","resource":"configmaps.v1.","namespace":"a","heard":"2026-01-31T02:30:00.000Z"}
`
	recordedNoCM = `{"type":"SYNCED","time":"2026-01-31T02:00:01.000Z","resource":"secrets.v1.","namespace":"a","count":0}
{"type":"BOOKMARK","time":"2026-01-31T02:30:00.000Z","resource":"secrets.v1.","namespace":"a","heard":"2026-01-31T02:30:00.000Z"}
`
	recordedLater = `{"type":"ADDED","time":"2026-01-31T02:30:00.000Z","initial":true,"object":{"apiVersion":"v1","data":{"k":"v"},"kind":"ConfigMap","metadata":{"name":"late","namespace":"a","resourceVersion":"40","uid":"u-late"}}}
{"type":"SYNCED","time":"2026-01-31T02:30:00.000Z","resource":"configmaps.v1.","namespace":"a","count":1}
{"type":"BOOKMARK","time":"2026-01-31T02:30:05.000Z","resource":"configmaps.v1.","namespace":"a","heard":"2026-01-31T02:30:05.000Z"}
`
)

// recordClusters writes a recording of several clusters. It returns its directory, and the times named in recordedEU in
// milliseconds.
func recordClusters(t *testing.T, clusters map[string]string) (dir string, named map[string]int64) {
	t.Helper()
	dir, named = filepath.Join(t.TempDir(), "rec"), map[string]int64{}
	last := time.Now().Add(-time.Minute)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for cluster, text := range clusters {
		times, by, err := writeRecording(filepath.Join(dir, cluster), text, last)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range times {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			named[name] = at.Add(by).UnixMilli()
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".clusters"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, named
}

// hello is the first message to a viewer of a recording.
type hello struct {
	Past struct {
		From, To, At  int64
		Unknown, Gaps []struct {
			Cluster, Why string
			From, To     int64
		}
	}
	Clusters []struct{ Name, State, Text string }
}

// helloAt returns the hello message for a time.
func (b *page) helloAt(t *testing.T, time int64) (h hello) {
	t.Helper()
	text := b.viewAt(t, time).until(t, `"type":"hello"`)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &h); err != nil {
		t.Fatal(err)
	}
	return h
}

// states returns the clusters with their states.
func (h hello) states() (text string) {
	for _, c := range h.Clusters {
		text += c.Name + " " + c.State + " " + c.Text + "; "
	}
	return text
}

var keyIn = regexp.MustCompile(`"key":"([^"]+)"`)

func (b *page) keysAt(t *testing.T, time int64, query string) (keys string) {
	t.Helper()
	for _, found := range keyIn.FindAllStringSubmatch(b.get(t, fmt.Sprintf("/api/objects?time=%d%s", time, query)), -1) {
		keys += found[1] + " "
	}
	return keys
}

// TestServedPastClusters checks that the page shows a recording of several clusters as one. For each time it reports
// which clusters the recording covers, and shows the objects of these.
func TestServedPastClusters(t *testing.T) {
	t.Parallel()
	dir, at := recordClusters(t, map[string]string{"eu": recordedEU, "us": recordedUS, "none": recordedNoCM})
	p := startPiped(t, "nowhere", "serve", "cm", "--from", dir, "--context", "eu,us")
	b := p.page(t, nil)

	h := b.helloAt(t, at["BEFORE"])
	if got := h.states(); !regexp.MustCompile(`^eu live ; us unknown .*; $`).MatchString(got) {
		t.Errorf("in between: %s", got)
	}
	if h.Past.At != at["BEFORE"] || len(h.Past.Unknown) != 1 || h.Past.Unknown[0].Cluster != "us" {
		t.Errorf("in between: %+v", h.Past)
	}
	for _, g := range h.Past.Gaps {
		if g.Cluster != "eu" && g.Cluster != "us" || g.Why == "" {
			t.Errorf("a gap without a cluster: %+v", g)
		}
	}
	h = b.helloAt(t, at["LATER"])
	if got := h.states(); got != "eu live ; us live ; " || len(h.Past.Unknown) > 0 {
		t.Errorf("later: %s, %+v", got, h.Past)
	}

	// The objects are those that existed at the time, in each cluster.
	if got := b.keysAt(t, at["LATER"], ""); got != "eu/configmaps/u-one us/configmaps/u-one us/configmaps/u-two " {
		t.Errorf("the objects are %s", got)
	}
	if got := b.keysAt(t, at["LATER"], "&cluster=us&where=cluster%20!%3D%20'eu'"); got != "us/configmaps/u-one us/configmaps/u-two " {
		t.Errorf("the objects in us are %s", got)
	}
	if got := b.keysAt(t, h.Past.To, ""); got != "eu/configmaps/u-one us/configmaps/u-one " {
		t.Errorf("the objects at the end are %s", got)
	}
	value := func(time int64, key string) string {
		return regexp.MustCompile(`k: \w+`).FindString(b.get(t, fmt.Sprintf("/api/object?time=%d&key=%s", time, key)))
	}
	for _, want := range []struct {
		at    string
		key   string
		value string
	}{{"BEFORE", "eu/configmaps/u-one", "k: eu1"}, {"LATER", "eu/configmaps/u-one", "k: eu2"}, {"LATER", "us/configmaps/u-one", "k: us2"}} {
		if got := value(at[want.at], want.key); got != want.value {
			t.Errorf("%+v: %s", want, got)
		}
	}
	p.signal(os.Interrupt)
	p.ends(t, fail.ExitOK, `page: .*\n`)

	// A cluster without a recording of the resource is unknown at any time. Time zero means the end of the recording.
	p = startPiped(t, "nowhere", "serve", "cm", "--from", dir)
	b = p.page(t, nil)
	h = b.helloAt(t, 0)
	if got := h.states(); got != "eu live ; none unknown none of the requested resources was recorded; us live ; " {
		t.Errorf("at the end: %s", got)
	}

	// The cluster becomes known once the resource is recorded there.
	last := time.Now().Add(-time.Second)
	if _, _, err := writeRecording(filepath.Join(dir, "none"), recordedLater, last); err != nil {
		t.Fatal(err)
	}
	h = b.helloAt(t, last.UnixMilli())
	if got := h.states(); !strings.Contains(got, "none live ; ") {
		t.Errorf("once it is recorded: %s", got)
	}
	if got := b.keysAt(t, last.UnixMilli(), "&cluster=none"); got != "none/configmaps/u-late " {
		t.Errorf("once it is recorded, the objects are %s", got)
	}
	p.signal(os.Interrupt)
	p.ends(t, fail.ExitOK, `none: the recording .* has no "cm": it has secrets in namespace a\npage: .*\n`)
}
