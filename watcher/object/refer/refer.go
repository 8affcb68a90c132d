// Package refer says which objects the spec of another one names: pure functions.
package refer

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"dwatch/watcher/object/owner"
)

// maxDepth bounds how deep it is looked.
const maxDepth = 32

// field is one by which objects name others: as a text, or as a map, or a list of maps, in which
// the name stands.
type field struct {
	kind schema.GroupKind
	in   string // of a map; empty: the field is the name
	// isForImages: the object is there to pull images, and a pod starts without it.
	isForImages bool
}

var (
	configMap = schema.GroupKind{Kind: "ConfigMap"}
	secret    = schema.GroupKind{Kind: "Secret"}
	claim     = schema.GroupKind{Kind: "PersistentVolumeClaim"}
)

// fields are those of the Kubernetes API, wherever they stand below spec: in a Pod, in a template,
// and in custom resources that keep to the same names.
var fields = map[string]field{
	"configMap":             {configMap, "name", false},
	"configMapKeyRef":       {configMap, "name", false},
	"configMapRef":          {configMap, "name", false},
	"secret":                {secret, "name", false},
	"secretName":            {secret, "", false},
	"secretKeyRef":          {secret, "name", false},
	"secretRef":             {secret, "name", false},
	"imagePullSecrets":      {secret, "name", true},
	"nodePublishSecretRef":  {secret, "name", false},
	"persistentVolumeClaim": {claim, "claimName", false},
	"serviceAccountName":    {schema.GroupKind{Kind: "ServiceAccount"}, "", false},
	"nodeName":              {schema.GroupKind{Kind: "Node"}, "", false},
}

// Of returns what an object refers to, each once, in the order in which it is found: in the namespace of
// the object, but for Nodes.
func References(u *unstructured.Unstructured) []owner.Ref {
	w := walk{namespace: u.GetNamespace()}
	w.in(u.Object["spec"], 0)
	return w.found
}

// Secret is one that an object refers to.
type SecretRef struct {
	Name string
	// Optional: pods start without it, by each of the references.
	Optional bool
	// ForImages: it is only there to pull images, and no container gets it.
	ImagePullOnly bool
}

// Secrets returns the Secrets that an object refers to.
func SecretRefs(u *unstructured.Unstructured) (secrets []SecretRef) {
	w := walk{namespace: u.GetNamespace()}
	w.in(u.Object["spec"], 0)
	for _, r := range w.found {
		if r.GroupKind() == secret {
			secrets = append(secrets, SecretRef{r.Name, !slices.Contains(w.needed, r), !slices.Contains(w.inside, r)})
		}
	}
	return secrets
}

type walk struct {
	namespace string
	found     []owner.Ref
	needed    []owner.Ref // of those found
	inside    []owner.Ref // of those found, that containers get
}

func (w *walk) in(value any, depth int) {
	if depth > maxDepth {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if f, ok := fields[name]; ok {
				w.take(f, value[name], value["optional"] == true)
			}
			w.in(value[name], depth+1)
		}
	case []any:
		for _, one := range value {
			w.in(one, depth+1)
		}
	}
}

// take takes in what a field names; isOptional says what stands beside it.
func (w *walk) take(f field, value any, isOptional bool) {
	switch value := value.(type) {
	case string:
		if f.in == "" && value != "" {
			w.add(f, value, isOptional)
		}
	case map[string]any:
		if name, _ := value[f.in].(string); name != "" {
			w.add(f, name, f.isForImages || value["optional"] == true)
		}
	case []any:
		for _, one := range value {
			if one, ok := one.(map[string]any); ok {
				w.take(f, one, false)
			}
		}
	}
}

func (w *walk) add(f field, name string, isOptional bool) {
	r := owner.Ref{GroupVersionKind: f.kind.WithVersion("v1"), Namespace: w.namespace, Name: name}
	if f.kind.Kind == "Node" {
		r.Namespace = ""
	}
	isName := len(validation.IsDNS1123Subdomain(name)) == 0 // others a server has not; what says them need not be checked by it
	if isName && !slices.Contains(w.found, r) {
		w.found = append(w.found, r)
	}
	if !isOptional && !slices.Contains(w.needed, r) {
		w.needed = append(w.needed, r)
	}
	if !f.isForImages && !slices.Contains(w.inside, r) {
		w.inside = append(w.inside, r)
	}
}
