package program

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// hostileCRD accepts any content.
const hostileCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hostiles.hostile.example.com}
spec:
  group: hostile.example.com
  scope: Cluster
  names: {plural: hostiles, singular: hostile, kind: Hostile}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// hostileContent has values that JSON and YAML printers often get wrong.
const hostileContent = `{
  "integers": [0, -1, 9007199254740993, -9007199254740993, 9223372036854775807, -9223372036854775808, 18446744073709551615],
  "floats": [0.1, 1.5e300, -2.5e-7, 1e21, 100000000000000000000.5, 3.0],
  "nothing": [null, {}, [], "", {"": ""}],
  "booleans": [true, false],
  "markup": "<script>alert('&amp;')</script> \u2028 \u2029",
  "escapes": "quote \" backslash \\ slash \/ tab \t newline \n return \r bell \u0007 null \u0000 escape \u001b[31m del \u007f csi \u009b31m",
  "unicode": "ä 漢字 🙂 \ud83d\ude00 \u202eright to left\u202c e\u0301 \ufeff \ufffd",
  "yaml": ["yes", "no", "null", "~", "1", "1.0", "0x10", "1e3", "2026-11-21", "- a", "a: b", "# c", "!tag", "&anchor", "*alias", "|", "---", " lead", "trail ", "a\n b\n\n c\n", "\n", "%", "@", "` + "`" + `"],
  "keys": {"a.b/c d": 1, "\"": 2, "\n": 3, "yes": 4, "1": 5, "<": 6, "raw": 7, "apiVersion": "x", "metadata": {"managedFields": [1]}},
  "deep": [[[[[[[[[[[[[[[[{"a":[{"b":{"c":[1,[2,[3]]]}}]}]]]]]]]]]]]]]]]],
  "long": "LONG"
}`

// TestHostileContent writes hostile objects to the API server and compares the output of dwatch with the response to a
// plain GET.
func TestHostileContent(t *testing.T) {
	t.Parallel()
	config, err := testbed.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.leave)
	crd := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(crd, []byte(hostileCRD), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.apply(crd, strings.NewReplacer()); err != nil {
		t.Fatal(err)
	}
	want := createHostile(t, config, o.client)

	for _, test := range []struct {
		args  []string
		read  func(*testing.T, []byte) any
		marks bool
	}{
		{[]string{"list"}, readJSON, false},
		{[]string{"list", "--color=always"}, readColored, false},
		{[]string{"list", "-o", "yaml"}, readYAML, false},
		{[]string{"list", "-o", "kyaml"}, readYAML, false},
		{[]string{"--types", "added"}, readJSON, true},
		{[]string{"--types", "added", "-o", "yaml"}, readYAML, true},
		{[]string{"--types", "added", "-o", "kyaml"}, readYAML, true},
		{[]string{"list", "--show-managed-fields"}, readJSON, false},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			out := runUntilFirst(t, append(test.args, "--kubeconfig", testbed.Kubeconfig, "-r", "hostiles"))
			got := test.read(t, out).(map[string]any)
			var object any = got["object"]
			if !test.marks {
				object = got["items"].([]any)[0]
			}
			want := want(!strings.Contains(strings.Join(test.args, " "), "managed"))
			if !reflect.DeepEqual(want, object) { // cmp takes seconds for deeply nested values
				t.Errorf("server (-), dwatch (+):\n%s", cmp.Diff(want, object))
			}
		})
	}
}

// createHostile creates the hostile object. It returns a function that decodes the object as the server returns it, with
// or without managedFields.
func createHostile(t *testing.T, config *rest.Config, client dynamic.Interface) func(stripped bool) any {
	t.Helper()
	mapping := strings.ReplaceAll(hostileContent, "LONG", strings.Repeat("x", 300_000))
	body := `{"apiVersion":"hostile.example.com/v1","kind":"Hostile","metadata":{"name":"a.b","annotations":{"note":"<&>` + "\u2028" + `"}},"spec":` + mapping + `}`
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(body)); err != nil {
		t.Fatal(err)
	}
	hostiles := client.Resource(u.GroupVersionKind().GroupVersion().WithResource("hostiles"))
	if _, err := hostiles.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.Get(config.Host + "/apis/hostile.example.com/v1/hostiles/a.b")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return func(stripped bool) any {
		object := readJSON(t, text)
		if stripped {
			delete(object.(map[string]any)["metadata"].(map[string]any), "managedFields")
		}
		return object
	}
}

// readJSON decodes JSON without a loss of precision.
func readJSON(t *testing.T, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v:\n%.2000s", err, text)
	}
	return normal(value)
}

func readYAML(t *testing.T, text []byte) any {
	t.Helper()
	first, _, _ := bytes.Cut(text, []byte("\n---\n"))
	asJSON, err := yaml.YAMLToJSONStrict(first)
	if err != nil {
		t.Fatalf("%v:\n%.2000s", err, text)
	}
	return readJSON(t, asJSON)
}

func readColored(t *testing.T, text []byte) any {
	t.Helper()
	if !bytes.Contains(text, []byte("\x1b[34;1m")) {
		t.Error("no colour")
	}
	return readJSON(t, escapes.ReplaceAll(text, nil))
}

// normal makes equal numbers comparable that are written differently.
func normal(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for k := range v {
			v[k] = normal(v[k])
		}
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			f, _ := v.Float64()
			return f
		}
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	}
	return value
}

// runUntilFirst runs dwatch until it ends or has printed its first event.
func runUntilFirst(t *testing.T, args []string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "dwatch"), args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(out, first); err != nil {
		t.Fatal(err)
	}
	// dwatch finishes the event that it has begun to write.
	cmd.Process.Signal(os.Interrupt)
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return append(first, rest...)
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")
