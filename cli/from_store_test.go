package cli

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
	"dwatch/watcher/recording/remote"
)

// fromAt is what is typed to ask the recording at an address.
func fromAt(t *testing.T, address string, more ...string) flags.From {
	t.Helper()
	var from flags.From
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	from.AddTo(f)
	if err := f.Parse(append([]string{"--from", address}, more...)); err != nil {
		t.Fatal(err)
	}
	if err := from.Check(f); err != nil {
		t.Fatal(err)
	}
	return from
}

// TestFromTLS: whose authority is not known is not asked, and never shown the token.
func TestFromTLS(t *testing.T) {
	shown := make(chan string, 10)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown <- r.Header.Get("Authorization") + " " + r.URL.String()
		fmt.Fprint(w, `{"version":1,"parts":[{"cluster":"eu","segments":[]}]}`)
	}))
	defer server.Close()
	server.Config.ErrorLog = nil
	ca := filepath.Join(t.TempDir(), "ca")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	address := server.URL + "/below/?token=hunter2#time=1"
	_, err := partsOf(t.Context(), fromAt(t, address))
	if err == nil || !strings.HasSuffix(err.Error(), "--from-ca gives its authority") || strings.Contains(err.Error(), "hunter2") || fail.ExitCode(err) != fail.ExitFailed {
		t.Error(err)
	}
	if len(shown) > 0 {
		t.Errorf("it was asked: %q", <-shown)
	}
	parts, err := partsOf(t.Context(), fromAt(t, address, "--from-ca", ca))
	if err != nil || len(parts) != 1 || parts[0].Cluster != "eu" {
		t.Error(parts, err)
	}
	if got := <-shown; got != "Bearer hunter2 /below/api/recording" {
		t.Errorf("%q", got)
	}
}

// TestFromBroken: an answer that breaks off is an error by which a run ends.
func TestFromBroken(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"version":1,"parts":[`)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	from := fromAt(t, server.URL+"/?token=hunter2")
	_, err := partsOf(t.Context(), from)
	err = failedFrom(from, err)
	if want := "--from " + server.URL + ": the connection broke in the middle of an answer: unexpected EOF"; fmt.Sprint(err) != want || fail.ExitCode(err) != fail.ExitFailed {
		t.Error(err)
	}
}

// TestFromRestarted: who was asked, and is another run by now, is no wrong usage.
func TestFromRestarted(t *testing.T) {
	restarted := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if restarted {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, `{"version":1,"parts":[{"segments":[]}]}`)
	}))
	defer server.Close()
	parts, err := partsOf(t.Context(), fromAt(t, server.URL+"/?token=hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	restarted = true
	if _, err = parts[0].Store.List(t.Context()); fail.ExitCode(failedFrom(flags.From{}, err)) != fail.ExitFailed || !strings.Contains(err.Error(), "--from takes the address that this run") {
		t.Error(err)
	}
	if !fail.Is[*remote.RefusedError](err) {
		t.Errorf("what was answered is lost: %#v", err)
	}
}

// TestUnrecordedPart: of several clusters one that has nothing yet does not keep the others from answering; of it, and
// of what is withheld, nothing is known.
func TestUnrecordedPart(t *testing.T) {
	withheld := recordingStore{{Name: "00000001-20260131T020000Z.zst", Size: 1, WithheldReason: "it is so"}}
	for name, store := range map[string]recordingStore{"withheld": withheld, "begun": nil} {
		one := &recordedPart{console: &console{}, cluster: "eu", where: "rec/eu", store: store}
		if err := one.read(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := &recordingOf{parts: []*recordedPart{one}}
		_, err := r.session(t.Context(), &console{}, selection{})
		if fail.ExitCode(err) != fail.ExitIncomplete || !strings.Contains(fmt.Sprint(err), "of what the recording rec/eu has nothing is known") {
			t.Errorf("%s: %v", name, err)
		}
		one.cluster = ""
		if err := one.read(t.Context()); store == nil && !errors.Is(err, recording.ErrNoRecording) || store != nil && err != nil {
			t.Errorf("%s, of the only one: %v", name, err)
		}
		if _, err := r.session(t.Context(), &console{}, selection{}); store != nil && fail.ExitCode(err) != fail.ExitIncomplete {
			t.Errorf("%s, of the only one: %v", name, err)
		}
	}
}

// recordingStore is a Store of what can't be read.
type recordingStore []recording.StoredFile

func (s recordingStore) List(context.Context) ([]recording.StoredFile, error) { return s, nil }

func (s recordingStore) Read(context.Context, string, int64, int64) ([]byte, error) {
	return nil, errors.New("nothing is read")
}

// TestWithhold: what hides less than is hidden now, or has more than is shown now, is withheld.
func TestWithhold(t *testing.T) {
	of := func(name string) event.SelectedResource { return event.SelectedResource{Resource: name} }
	now := recording.RunInfo{
		Masks:     `secrets=true data["a b"] spec.x`,
		Selection: event.Selection{Resources: []event.SelectedResource{of("pods"), {Resource: "secrets", Name: "one"}}, Namespaces: []string{"a", "b"}, Exclude: []string{"events"}},
	}
	var r runs
	withhold := func(cluster string, of recording.RunInfo) string {
		return r.withhold(cluster, recording.Segment{RunInfo: &of})
	}
	if why := withhold("", now); why != "this run has not begun to record the cluster" {
		t.Errorf("before it has begun: %q", why)
	}
	r.of("").begin(now)
	for name, change := range map[string]func(*recording.RunInfo){
		"":                 func(*recording.RunInfo) {},
		"more hidden":      func(a *recording.RunInfo) { a.Masks += " spec.y" },
		"fewer resources":  func(a *recording.RunInfo) { a.Selection.Resources = a.Selection.Resources[:1] },
		"fewer namespaces": func(a *recording.RunInfo) { a.Selection.Namespaces = []string{"b"} },
		"a named object": func(a *recording.RunInfo) {
			a.Selection.Resources = []event.SelectedResource{{Resource: "pods", Name: "x"}}
		},
		"hides less: Secrets":                 func(a *recording.RunInfo) { a.Masks = `secrets=false data["a b"] spec.x` },
		"hides less: a path":                  func(a *recording.RunInfo) { a.Masks = `secrets=true spec.x` },
		"hides less: parts of a path":         func(a *recording.RunInfo) { a.Masks = `secrets=true data["a b"] data["a x" spec.x"]` },
		"hides less: nothing":                 func(a *recording.RunInfo) { a.Masks = "" },
		"more shown: another resource":        func(a *recording.RunInfo) { a.Selection.Resources = []event.SelectedResource{of("cm")} },
		"more shown: all objects":             func(a *recording.RunInfo) { a.Selection.Resources = []event.SelectedResource{of("secrets")} },
		"more shown: namespaces":              func(a *recording.RunInfo) { a.Selection.Namespaces = []string{"a", "c"} },
		"more shown: all namespaces":          func(a *recording.RunInfo) { a.Selection.AllNamespaces = true },
		"more shown: what is excluded now":    func(a *recording.RunInfo) { a.Selection.Exclude = nil },
		"more shown: without a selector":      func(a *recording.RunInfo) { a.Selection.Labels = "x=y" },
		"more shown: everything":              func(a *recording.RunInfo) { a.Selection.Resources = []event.SelectedResource{of("*")} },
		"more shown: namespaces by a pattern": func(a *recording.RunInfo) { a.Selection.NamespaceLabels = "x=y" },
	} {
		was := now
		was.Selection.Resources = slices.Clone(now.Selection.Resources)
		change(&was)
		want := map[bool]string{true: "it hides less than is hidden now"}[strings.HasPrefix(name, "hides less")]
		if strings.HasPrefix(name, "more shown") {
			want = "it has more than is shown now"
		}
		if why := withhold("", was); why != want {
			t.Errorf("%s: %q", name, why)
		}
	}
	all := recording.RunInfo{Masks: "secrets=false", Selection: event.Selection{Resources: []event.SelectedResource{of("*")}, AllNamespaces: true}}
	r.of("eu").begin(all)
	if why := withhold("eu", recording.RunInfo{Masks: "secrets=false", Selection: now.Selection}); why != "" {
		t.Errorf("nothing is hidden, and all is shown: %q", why)
	}
	if why := withhold("us", now); why == "" {
		t.Error("another cluster")
	}
}

// TestWithholdUnseen: what a name such as '*' stood for in an earlier run, and this one is not given, is withheld.
func TestWithholdUnseen(t *testing.T) {
	target := func(resource, namespace, name string) event.Target {
		gvr := schema.GroupVersionResource{Version: "v1", Resource: resource}
		return event.Target{Mapping: event.NewMapping(gvr, resource, true), Namespace: namespace, Name: name, Cluster: "eu"}
	}
	about := recording.RunInfo{Selection: event.Selection{Resources: []event.SelectedResource{{Resource: "*"}}, AllNamespaces: true}}
	var r runs
	now := r.of("eu")
	now.begin(about)
	for _, seen := range []event.Target{target("pods", "", ""), target("configmaps", "a", ""), target("services", "a", "one")} {
		now.see(event.Event{Type: event.Synced, Target: seen})
	}
	now.see(event.Event{Type: event.Denied, Target: target("secrets", "", "")})
	for name, test := range map[string]struct {
		held event.Target
		want string
	}{
		"all":                          {target("pods", "", ""), ""},
		"one of all":                   {target("pods", "b", "x"), ""},
		"of a namespace":               {target("configmaps", "a", ""), ""},
		"of another namespace":         {target("configmaps", "b", ""), "it has configmaps, which this run has not been given"},
		"of all namespaces":            {target("configmaps", "", ""), "it has configmaps, which this run has not been given"},
		"an object":                    {target("services", "a", "one"), ""},
		"others than an object":        {target("services", "a", ""), "it has services, which this run has not been given"},
		"what is denied":               {target("secrets", "", ""), "it has secrets, which this run has not been given"},
		"what this run does not watch": {target("roles", "", ""), "it has roles, which this run has not been given"},
	} {
		held := test.held.Key()
		held.Cluster = ""
		if why := r.withhold("eu", recording.Segment{RunInfo: &about, Targets: []event.Key{held}}); why != test.want {
			t.Errorf("%s: %q", name, why)
		}
	}
}
