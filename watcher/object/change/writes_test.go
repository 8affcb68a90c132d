package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// owned returns the values that each write claims for its manager, as "manager path=value".
func owned(t *testing.T, object string) (claims []string) {
	t.Helper()
	for _, w := range LastWrites(object) {
		for _, c := range Diff(text(w.Base), text(w.OwnedFields), Options{}).Changes {
			claims = append(claims, fmt.Sprintf("%s %s=%s", w.Manager, c.Path, text(c.New)))
		}
	}
	slices.Sort(claims)
	return claims
}

// TestLastWritesClaimsOwnValues checks which values LastWrites attributes to the managers alice and
// bob. In fieldsV1, {} is a field that a manager owns. For a map or list it does not say whether the
// manager also owns what is in it.
func TestLastWritesClaimsOwnValues(t *testing.T) {
	object := func(apiVersion, content, alice, bob string) string {
		entry := func(manager, version, fields string) string {
			return fmt.Sprintf(`{manager: %s, operation: Update, apiVersion: %s, time: "2026-01-31T09:00:00Z", fieldsType: FieldsV1, fieldsV1: %s}`, manager, version, fields)
		}
		bobVersion, fields, found := strings.Cut(bob, " ")
		if !found || strings.HasPrefix(bob, "{") {
			bobVersion, fields = apiVersion, bob
		}
		return text(decode(t, fmt.Sprintf(`{apiVersion: %s, kind: Thing, metadata: {managedFields: [%s, %s]}, %s}`, apiVersion, entry("alice", apiVersion, alice), entry("bob", bobVersion, fields), content)))
	}
	const custom, builtin = "example.com/v1", "apps/v1"
	for _, test := range []struct{ name, object, want string }{
		{"a map whose value another manager replaced", object("v1", `data: {mode: DANGER}`, `{"f:data": {}}`, `{"f:data": {"f:mode": {}}}`), `bob data.mode="DANGER"`},
		{"a map, and the other manager wrote in another version", object(custom, `data: {mode: x}`, `{"f:data": {}}`, `example.com/v2 {"f:other": {"f:mode": {}}}`), ``},
		{"a map whose value has no owner because the server set it", object(custom, `conf: {mode: fast}`, `{"f:conf": {}}`, `{}`), ``},
		{"a map that the server set to null", object(custom, `conf: null`, `{"f:conf": {}}`, `{}`), ``},
		{"a map that is empty now", object(custom, `conf: {}`, `{"f:conf": {}}`, `{}`), ``},
		{"an atomic map of a built-in type", object(builtin, `spec: {selector: {matchLabels: {a: b}}}`, `{"f:spec": {"f:selector": {}}}`, `{}`), `alice spec.selector={"matchLabels":{"a":"b"}}`},
		{"the same name in a custom resource", object(custom, `spec: {selector: {a: b}}`, `{"f:spec": {"f:selector": {}}}`, `{}`), ``},
		{"an atomic list", object(custom, `spec: {args: [a, b]}`, `{"f:spec": {"f:args": {}}}`, `{}`), `alice spec.args=["a","b"]`},
		{"a list whose item another manager owns", object(custom, `rows: [{name: a, x: 1}]`, `{"f:rows": {}}`, `{"f:rows": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:x": {}}}}`), `bob rows[name=a].x=1`},
		{"a list, and the other manager wrote in another version", object(custom, `rows: [{name: a}]`, `{"f:rows": {}}`, `example.com/v2 {"f:lines": {}}`), ``},
		{"a list that is empty now", object(custom, `rows: []`, `{"f:rows": {}}`, `{}`), ``},
		{"an item with a field that another manager owns", object(custom, `rows: [{name: a, x: 1}]`, `{"f:rows": {'k:{"name":"a"}': {}}}`, `{"f:rows": {'k:{"name":"a"}': {"f:x": {}}}}`), `bob rows[name=a].x=1`},
		{"an atomic item", object(custom, `rows: [{name: a, x: 1}]`, `{"f:rows": {'k:{"name":"a"}': {}}}`, `{}`), `alice rows[name=a]={"name":"a","x":1}`},
		{"two items with the same key", object(custom, `rows: [{name: a, x: 1}, {name: a, x: 2}]`, `{"f:rows": {'k:{"name":"a"}': {"f:x": {}}}}`, `{}`), ``},
		{"values of a set", object(custom, `tags: [a, b]`, `{"f:tags": {".": {}, 'v:"a"': {}}}`, `{"f:tags": {'v:"b"': {}}}`), `alice tags[0]="a" bob tags[0]="b"`},
		{"a map and one of its fields", object(custom, `data: {a: 1, b: 2}`, `{"f:data": {".": {}, "f:a": {}}}`, `{"f:data": {"f:b": {}}}`), `alice data.a=1 bob data.b=2`},
		{"a field that both set to the same value", object(custom, `a: 1`, `{"f:a": {}}`, `{"f:a": {}}`), `alice a=1 bob a=1`},
	} {
		if got := strings.Join(owned(t, test.object), " "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// leaves are the scalars and empty containers of an object by path. Items are named by what the lists
// of the test objects are keyed by, others by their index.
type leaves map[string]string

func leavesOf(value any) leaves {
	l := leaves{}
	l.add("", value)
	return l
}

func (l leaves) add(path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, part := range v {
			l.add(path+"."+name, part)
		}
		if len(v) > 0 {
			return
		}
	case []any:
		for i, item := range v {
			step := fmt.Sprint(i)
			if strings.HasSuffix(path, "tags") || strings.HasSuffix(path, "finalizers") {
				step = fmt.Sprint(item)
			}
			if fields, ok := item.(map[string]any); ok && !strings.HasSuffix(path, "steps") {
				for _, key := range []string{"id", "zone", "x", "name", "containerPort"} {
					if fields[key] != nil && (key != "name" || fields["id"] == nil && fields["containerPort"] == nil && fields["x"] == nil) {
						step += fmt.Sprintf(",%s=%v", key, fields[key])
					}
				}
				if fields["id"] != nil && fields["zone"] == nil {
					step += ",zone=main" // the default
				}
				if _, keyed, found := strings.Cut(step, ","); found {
					step = keyed
				}
			}
			l.add(path+"["+step+"]", item)
		}
		if len(v) > 0 {
			return
		}
	}
	l[path] = text(value)
}

var atomicFields = regexp.MustCompile(`^.*\.(unsaid|steps|pinned|l|args|tolerations|nodeSelector|selector)\b`)

// atomicPart returns the path of the atomic list or map that a path leads into, else the path.
func atomicPart(path string) string {
	if part := atomicFields.FindString(path); part != "" {
		return part
	}
	return path
}

// ownershipTest runs managers that write one object after the other, and records the values that each wrote.
type ownershipTest struct {
	random  *rand.Rand
	clients map[string]writer
	written map[string]map[string]bool // by manager: path=value
	value   int
	claims  int
}

// fresh returns a value that was not used before.
func (o *ownershipTest) fresh() string { o.value++; return fmt.Sprint("x", o.value) }

// pick returns a random part of the content: it leaves out random fields and items.
func (o *ownershipTest) pick(value any) any {
	switch v := value.(type) {
	case map[string]any:
		part := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if isKey := slices.Contains([]string{"id", "zone", "x", "name", "containerPort", "image"}, name); isKey || o.random.IntN(3) > 0 {
				part[name] = o.pick(v[name])
			}
		}
		return part
	case []any:
		list := []any{}
		for _, item := range v {
			if o.random.IntN(3) > 0 {
				list = append(list, o.pick(item))
			}
		}
		return list
	case string:
		if v == "" {
			return o.fresh()
		}
	}
	return value
}

// written is an object that the managers write. An empty string in content stands for any value.
type written struct {
	resource schema.GroupVersionResource
	content  map[string]any
	required func(content map[string]any) // adds what the server requires
}

func ownedSubjects(t *testing.T) []written {
	parse := func(content string) map[string]any {
		var m map[string]any
		if err := json.Unmarshal([]byte(text(decode(t, content))), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	return []written{
		{configMaps, parse(`{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: "", b: ""}, annotations: {a: ""}, finalizers: [e.example.com/a, e.example.com/b]}, data: {mode: "", other: "", third: ""}}`), func(map[string]any) {}},
		{things, parse(`{apiVersion: change.example.com/v1, kind: Thing, spec: {text: "", free: {a: {b: "", c: ""}, d: "", l: ["", ""]}, conf: {mode: "", size: 5}, pinned: {a: "", b: ""}, rows: [{id: a, name: "", cells: [{x: 1, name: ""}, {x: 2, name: ""}]}, {id: a, zone: other, name: ""}, {id: b, name: ""}], tags: [a, b, c], steps: [{name: "", run: ""}], unsaid: [{name: "", run: ""}, {name: b}]}}`), func(map[string]any) {}},
		{deployments, parse(`{apiVersion: apps/v1, kind: Deployment, metadata: {labels: {a: ""}}, spec: {replicas: 2, strategy: {}, selector: {matchLabels: {app: own}}, template: {metadata: {labels: {app: own, b: ""}, annotations: {a: "", b: ""}}, spec: {securityContext: {}, nodeSelector: {a: "", b: ""}, tolerations: [{key: "", operator: Exists}], containers: [{name: a, image: "", args: ["", ""], env: [{name: A, value: ""}, {name: B, value: ""}], ports: [{containerPort: 80}, {containerPort: 81}]}, {name: b, image: ""}]}}}}`), func(content map[string]any) {
			var whole map[string]any
			_ = json.Unmarshal([]byte(`{"spec":{"selector":{"matchLabels":{"app":"own"}},"template":{"metadata":{"labels":{"app":"own"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`), &whole)
			fill(content, whole)
		}},
	}
}

// fill adds the fields of whole that content lacks.
func fill(content, whole map[string]any) {
	for name, value := range whole {
		have, there := content[name]
		list, isList := have.([]any)
		if !there || isList && len(list) == 0 {
			content[name] = value
			continue
		}
		if inner, ok := value.(map[string]any); ok {
			fill(have.(map[string]any), inner)
		}
	}
}

// write lets a manager make one random write, and returns the object after it. It records the values that the manager
// applied or, for other writes, changed.
func (o *ownershipTest) write(t *testing.T, s written, manager, name string, before *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	w := o.clients[manager]
	client := w.client.Resource(s.resource).Namespace("lists")
	content := o.pick(s.content).(map[string]any)
	content["apiVersion"], content["kind"] = s.content["apiVersion"], s.content["kind"]
	metadata, _ := content["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		content["metadata"] = metadata
	}
	metadata["name"] = name
	s.required(content)
	wrote := leaves{}
	var after *unstructured.Unstructured
	var err error
	switch o.random.IntN(4) {
	case 0, 1:
		after, err = client.Patch(t.Context(), name, types.ApplyPatchType, []byte(text(content)), metav1.PatchOptions{FieldManager: manager, Force: new(true)})
		wrote = leavesOf(content)
	case 2:
		if before == nil {
			after, err = client.Create(t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{FieldManager: manager})
			break
		}
		metadata["resourceVersion"] = before.GetResourceVersion()
		metadata["managedFields"] = before.Object["metadata"].(map[string]any)["managedFields"]
		after, err = client.Update(t.Context(), &unstructured.Unstructured{Object: content}, metav1.UpdateOptions{FieldManager: manager})
	default:
		if before == nil {
			return nil
		}
		after, err = client.Patch(t.Context(), name, types.MergePatchType, []byte(text(content)), metav1.PatchOptions{FieldManager: manager})
	}
	if apierrors.IsInvalid(err) {
		return before
	}
	if apierrors.IsConflict(err) { // a controller was faster
		if after, err = client.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		return after
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", manager, err, text(content))
	}
	if len(wrote) == 0 {
		wrote = leavesOf(after.Object)
		if before != nil {
			old := leavesOf(before.Object)
			changed := map[string]bool{}
			for path, value := range wrote {
				changed[atomicPart(path)] = changed[atomicPart(path)] || old[path] != value
			}
			for path := range old {
				if _, found := wrote[path]; !found {
					changed[atomicPart(path)] = true
				}
			}
			maps.DeleteFunc(wrote, func(path, value string) bool { return old[path] == value && !changed[atomicPart(path)] })
		}
	}
	for path, value := range wrote {
		o.written[manager][path+"="+value] = true
	}
	return after
}

// check compares the claims of LastWrites with what the managers wrote.
func (o *ownershipTest) check(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	for _, w := range LastWrites(text(object.Object)) {
		if o.written[w.Manager] == nil {
			continue // a controller
		}
		base := leavesOf(w.Base)
		for path, value := range leavesOf(w.OwnedFields) {
			if base[path] == value || value == "{}" {
				continue // not claimed
			}
			o.claims++
			if claim := path + "=" + value; !o.written[w.Manager][claim] {
				t.Errorf("%s did not write %s\n%s", w.Manager, claim, text(object.Object))
			}
		}
	}
}

// TestLastWritesProperty lets managers apply, update and patch objects of the real server at random.
// LastWrites must not attribute a value to a manager that did not write it.
func TestLastWritesProperty(t *testing.T) {
	c := cluster(t)
	claims := 0
	for seed := range uint64(60) {
		o := &ownershipTest{random: rand.New(rand.NewPCG(seed, 11)), clients: map[string]writer{}}
		for _, s := range ownedSubjects(t) {
			o.written = map[string]map[string]bool{}
			for _, manager := range []string{"alice", "bob", "carol"} {
				if o.clients[manager].client == nil {
					o.clients[manager] = writer{t.Context(), client(t, c, manager), manager}
				}
				o.written[manager] = map[string]bool{}
			}
			var object *unstructured.Unstructured
			name := fmt.Sprint("owned-", seed)
			for range 12 {
				manager := []string{"alice", "bob", "carol"}[o.random.IntN(3)]
				if next := o.write(t, s, manager, name, object); next != nil {
					object = next
					o.check(t, object)
				}
			}
		}
		claims += o.claims
	}
	t.Logf("%d claims", claims)
	if claims < 5_000 {
		t.Error("less than 5,000 claims were checked")
	}
}
