// Package refer finds the objects to which the spec of another object refers. Its functions are pure.
package refer

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"dwatch/watcher/object/owner"
)

// maxDepth is how many levels below spec are searched.
const maxDepth = 32

// field describes a field that refers to another object. Its value is a name, or a map or a list of maps with the name.
type field struct {
	kind      schema.GroupKind
	nameField string // the field of the map that has the name; if empty, the value is the name itself
	// isForImages is true if the object is only used to pull images. A pod starts without it.
	isForImages bool
}

var (
	configMap = schema.GroupKind{Kind: "ConfigMap"}
	secret    = schema.GroupKind{Kind: "Secret"}
	claim     = schema.GroupKind{Kind: "PersistentVolumeClaim"}
)

// fields has the referring fields of the Kubernetes API by name. They count at any level below spec: in a Pod, in a pod
// template, and in custom resources that use the same names.
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

// References returns the objects to which an object refers, without duplicates, in the order in which they are found.
// All except Nodes are in the namespace of the object.
func References(u *unstructured.Unstructured) []owner.Ref {
	w := walk{namespace: u.GetNamespace()}
	w.visit(u.Object["spec"], 0)
	return w.found
}

// SecretRef is a reference to a Secret.
type SecretRef struct {
	Name string
	// Optional is true if pods start without the Secret, because each reference to it is optional or for pulling images.
	Optional bool
	// ImagePullOnly is true if the Secret is only used to pull images, and no container gets it.
	ImagePullOnly bool
}

// SecretRefs returns the Secrets to which an object refers.
func SecretRefs(u *unstructured.Unstructured) (secrets []SecretRef) {
	w := walk{namespace: u.GetNamespace()}
	w.visit(u.Object["spec"], 0)
	for _, r := range w.found {
		if r.GroupKind() == secret {
			secrets = append(secrets, SecretRef{r.Name, !slices.Contains(w.needed, r), !slices.Contains(w.forContainers, r)})
		}
	}
	return secrets
}

type walk struct {
	namespace     string
	found         []owner.Ref
	needed        []owner.Ref // without which pods do not start
	forContainers []owner.Ref // which are not only used to pull images
}

func (w *walk) visit(value any, depth int) {
	if depth > maxDepth {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if f, ok := fields[name]; ok {
				w.addField(f, value[name], value["optional"] == true)
			}
			w.visit(value[name], depth+1)
		}
	case []any:
		for _, one := range value {
			w.visit(one, depth+1)
		}
	}
}

// addField adds the references in the value of a field. isOptional is true if the map that contains the field has
// optional: true. It only matters if the value is a name.
func (w *walk) addField(f field, value any, isOptional bool) {
	switch value := value.(type) {
	case string:
		if f.nameField == "" && value != "" {
			w.add(f, value, isOptional)
		}
	case map[string]any:
		if name, _ := value[f.nameField].(string); name != "" {
			w.add(f, name, f.isForImages || value["optional"] == true)
		}
	case []any:
		for _, one := range value {
			if one, ok := one.(map[string]any); ok {
				w.addField(f, one, false)
			}
		}
	}
}

func (w *walk) add(f field, name string, isOptional bool) {
	r := owner.Ref{GroupVersionKind: f.kind.WithVersion("v1"), Namespace: w.namespace, Name: name}
	if f.kind.Kind == "Node" {
		r.Namespace = ""
	}
	isName := len(validation.IsDNS1123Subdomain(name)) == 0 // custom resources may contain anything; no object has another name
	if isName && !slices.Contains(w.found, r) {
		w.found = append(w.found, r)
	}
	if !isOptional && !slices.Contains(w.needed, r) {
		w.needed = append(w.needed, r)
	}
	if !f.isForImages && !slices.Contains(w.forContainers, r) {
		w.forContainers = append(w.forContainers, r)
	}
}
