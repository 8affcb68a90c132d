package codec

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/event"
)

func TestObject(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		keep bool
		meta typeMeta
		want string // the content
	}{
		"as it is": {
			text: `{"kind":"A","apiVersion":"v1","metadata":{"name":"x"},"n":1.0,"s":"\u003c"}`,
			want: `{"kind":"A","apiVersion":"v1","metadata":{"name":"x"},"n":1.0,"s":"\u003c"}`,
		},
		"managedFields last": {
			text: `{"kind":"A","apiVersion":"v1","metadata":{"name":"x","managedFields":[{"a":"]}"}]},"b":1}`,
			want: `{"kind":"A","apiVersion":"v1","metadata":{"name":"x"},"b":1}`,
		},
		"managedFields first": {
			text: `{"kind":"A","apiVersion":"v1","metadata":{"managedFields":[],"name":"x"}}`,
			want: `{"kind":"A","apiVersion":"v1","metadata":{"name":"x"}}`,
		},
		"managedFields in the middle": {
			text: `{"kind":"A","apiVersion":"v1","metadata":{"uid":"u","managedFields":null,"name":"x"}}`,
			want: `{"kind":"A","apiVersion":"v1","metadata":{"uid":"u","name":"x"}}`,
		},
		"managedFields alone": {
			text: `{"kind":"A","apiVersion":"v1","metadata":{"managedFields":[1]}}`,
			want: `{"kind":"A","apiVersion":"v1","metadata":{}}`,
		},
		"managedFields elsewhere": {
			text: `{"kind":"A","apiVersion":"v1","metadata":{"name":"x","labels":{"managedFields":"1"}},"managedFields":[1],"spec":{"metadata":{"managedFields":2}}}`,
			want: `{"kind":"A","apiVersion":"v1","metadata":{"name":"x","labels":{"managedFields":"1"}},"managedFields":[1],"spec":{"metadata":{"managedFields":2}}}`,
		},
		"managedFields kept": {
			text: `{"kind":"A","apiVersion":"v1","metadata":{"name":"x","managedFields":[1]}}`, keep: true,
			want: `{"kind":"A","apiVersion":"v1","metadata":{"name":"x","managedFields":[1]}}`,
		},
		"indented": {
			text: "{\n  \"kind\": \"A\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {\n    \"name\": \"x\" ,\n    \"managedFields\": [\n 1 ]\n  },\r\n \"s\": \" \\n \"\n}\n",
			want: `{"kind":"A","apiVersion":"v1","metadata":{"name":"x"},"s":" \n "}`,
		},
		"item of a typed list": {
			text: `{"metadata":{"name":"x","managedFields":[1]},"spec":1}`, meta: typeMeta{"apps/v1", "Deployment"},
			want: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":1}`,
		},
		"item with a type": {
			text: `{"kind":"B","apiVersion":"v2","metadata":{"name":"x"}}`, meta: typeMeta{"v1", "A"},
			want: `{"kind":"B","apiVersion":"v2","metadata":{"name":"x"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := scanner{keepManagedFields: test.keep}.object(test.text, test.meta)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, Content(u)); diff != "" {
				t.Error(diff)
			}
			checkRaw(t, u)
		})
	}
}

// checkRaw compares a raw object with its content.
func checkRaw(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	full, err := event.NewObject(IdentityOf(u), Content(u)).Decode()
	if err != nil {
		t.Fatalf("%v in %s", err, Content(u))
	}
	type facts struct {
		APIVersion, Kind, Name, Namespace, UID, ResourceVersion string
	}
	of := func(u *unstructured.Unstructured) facts {
		return facts{u.GetAPIVersion(), u.GetKind(), u.GetName(), u.GetNamespace(), string(u.GetUID()), u.GetResourceVersion()}
	}
	if diff := cmp.Diff(of(full), of(u)); diff != "" {
		t.Errorf("content (-), raw (+):\n%s", diff)
	}
}

func TestNoObject(t *testing.T) {
	for _, text := range []string{
		`{"kind":"Status","apiVersion":"v1","metadata":{},"code":410}`, `{"metadata":{}}`, `{"kind":"A"}`, `[]`, `1`, `null`, `""`,
	} {
		if u, err := (scanner{}).object(text, typeMeta{}); u != nil || err != nil {
			t.Errorf("%s: %v, %v", text, u, err)
		}
	}
}

func TestTake(t *testing.T) {
	text := `{"kind":"A","apiVersion":"v1","metadata":{"name":"x","uid":"u","resourceVersion":"5","labels":{"a":"b"}}}`
	u, err := scanner{keepManagedFields: true}.object(text, typeMeta{})
	if err != nil {
		t.Fatal(err)
	}
	if got := TakeContent(u); got != text {
		t.Error(got)
	}
	want := map[string]any{"kind": "A", "apiVersion": "v1", "metadata": map[string]any{"name": "x", "uid": "u", "resourceVersion": "5"}}
	if diff := cmp.Diff(want, u.Object); diff != "" {
		t.Error(diff)
	}
}

func TestList(t *testing.T) {
	text := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"c","remainingItemCount":3},
	 "items":[{"metadata":{"name":"a","managedFields":[1]}}, {"metadata":{"name":"b"},"kind":"Pod","apiVersion":"v1"}]}`
	var list unstructured.UnstructuredList
	if ok, err := (scanner{}).list(text, &list); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if n := list.GetRemainingItemCount(); list.GetResourceVersion() != "9" || list.GetContinue() != "c" || list.GetKind() != "PodList" || n == nil || *n != 3 {
		t.Errorf("%v", list.Object)
	}
	got := []string{Content(&list.Items[0]), Content(&list.Items[1])}
	want := []string{`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`, `{"metadata":{"name":"b"},"kind":"Pod","apiVersion":"v1"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	named := `{"kind":"FlockCollection","apiVersion":"a/v1","items":[{"kind":"Flock","apiVersion":"a/v1","metadata":{"name":"a"}}],"metadata":{}}`
	if ok, err := (scanner{}).list(named, &list); !ok || err != nil || list.GetKind() != "FlockCollection" || Content(&list.Items[0]) == "" {
		t.Errorf("a list with a name of its own: %v, %v, %v", ok, err, list.Object)
	}
	for _, other := range []string{`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`, `{"kind":"PodList"}`, `{"kind":"Status","apiVersion":"v1"}`, `nonsense`} {
		if ok, err := (scanner{}).list(other, &list); ok || err != nil {
			t.Errorf("%s: %v, %v", other, ok, err)
		}
	}
}

func TestEvents(t *testing.T) {
	decode := func(text string) (metav1.WatchEvent, error) {
		var e metav1.WatchEvent
		_, _, err := events{}.Decode([]byte(text), nil, &e)
		return e, err
	}
	e, err := decode(`{ "type" : "ADDED" , "object" : {"a":[1,{"type":"x"}]} , "more": 1 }`)
	if err != nil || e.Type != "ADDED" || string(e.Object.Raw) != `{"a":[1,{"type":"x"}]}` {
		t.Errorf("%v %s, %v", e, e.Object.Raw, err)
	}
	e, err = decode(`{}`)
	if err != nil || e.Type != "" || e.Object.Raw != nil {
		t.Errorf("%v, %v", e, err)
	}
}

// FuzzObject compares the scan with encoding/json.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{
		`{"kind":"A","apiVersion":"v1","metadata":{"name":"x","namespace":"n","uid":"u","resourceVersion":"5","labels":{"a":"b"},"managedFields":[{"f":{}}]},"spec":{"x":[1,2.5e3,null,true,"\u00e4\n"]}}`,
		" {\n\"metadata\" : { \"managedFields\" : [ ] , \"name\" : \"\\u0078\" } , \"kind\" : \"A\" , \"apiVersion\":\"\"}\r\n",
		`{"kind":"A","metadata":{"managedFields":1,"managedFields":2}}`, `{"kind":"","metadata":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if want := json.Valid(text) && utf8.Valid(text); valid(string(text)) != want {
			t.Fatalf("valid is %v for %q", !want, text)
		} else if !want {
			return
		}
		u, err := scanner{}.object(string(text), typeMeta{})
		if u == nil || err != nil || duplicates(text) {
			return
		}
		content := Content(u)
		if strings.ContainsAny(content, "\n\r") {
			t.Fatalf("more than one line: %q", content)
		}
		var want, got map[string]any
		decode(t, text, &want)
		decode(t, []byte(content), &got)
		if metadata, ok := want["metadata"].(map[string]any); ok {
			delete(metadata, "managedFields")
			for key, value := range map[string]string{"name": u.GetName(), "namespace": u.GetNamespace(), "uid": string(u.GetUID()), "resourceVersion": u.GetResourceVersion()} {
				if text, ok := metadata[key].(string); ok && text != value {
					t.Fatalf("%s is %q, not %q in %s", key, text, value, content)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
}

// duplicates reports whether an object has two members with the same name. Its meaning is then
// undefined, and no API server sends it.
func duplicates(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var walk func() bool
	walk = func() bool {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'):
			seen := map[any]bool{}
			for decoder.More() {
				key, _ := decoder.Token()
				if seen[key] {
					return true
				}
				seen[key] = true
				if walk() {
					return true
				}
			}
			decoder.Token()
		case json.Delim('['):
			for decoder.More() {
				if walk() {
					return true
				}
			}
			decoder.Token()
		}
		return false
	}
	return walk()
}
