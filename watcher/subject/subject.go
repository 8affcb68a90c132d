package subject

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/refer"
)

// Subject tracks which objects belong to an object, the root, in addition to its descendants:
// objects that the root and its pods refer to, and objects that target it or its pods, such as
// Services. It learns them from Learn and IsTargetOf. An object that once belonged to the root
// always does.
// Subject is safe for concurrent use.
type Subject struct {
	root  owner.Ref
	added chan struct{} // capacity one

	mu       sync.Mutex
	refs     []owner.Ref
	known    map[owner.Ref]bool  // refs, and objects that target the pods, by Ref.NameKey
	labels   []podLabels         // of its pods
	services map[objectName]bool // that select its pods
	learned  int                 // number of labels and services added
}

// objectName is the name of an object of a known kind.
type objectName struct{ namespace, name string }

// podLabels are the labels of pods in a namespace.
type podLabels struct {
	namespace string
	labels.Set
}

// NewSubject returns a Subject that has learned nothing.
func NewSubject(root owner.Ref) *Subject {
	return &Subject{root: root, added: make(chan struct{}, 1), known: map[owner.Ref]bool{}, services: map[objectName]bool{}}
}

// RefsAdded returns a channel that receives a signal when Refs has grown.
func (s *Subject) RefsAdded() <-chan struct{} { return s.added }

// Refs returns the objects that the root and its pods refer to.
func (s *Subject) Refs() []owner.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]owner.Ref(nil), s.refs...)
}

// Learn records the references and labels of the root, or of a pod that belongs to it.
func (s *Subject) Learn(u *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range refer.References(u) {
		if !s.known[r.NameKey()] && len(s.refs) < maxRefs {
			s.known[r.NameKey()] = true
			s.refs = append(s.refs, r)
			select {
			case s.added <- struct{}{}:
			default:
			}
		}
	}
	set := podLabels{u.GetNamespace(), labelsOf(u)}
	isKnown := slices.ContainsFunc(s.labels, func(known podLabels) bool {
		return known.namespace == set.namespace && maps.Equal(known.Set, set.Set)
	})
	if len(set.Set) > 0 && !isKnown {
		s.labels = append(s.labels[:min(len(s.labels), maxLabels-1)], set)
		s.learned++
	}
}

// maxRefs is the maximum number of references of a subject. Each referenced object has its own
// watch.
const maxRefs = 100

// maxLabels is the maximum number of label sets that are retained. After that, the newest replaces
// the last one. Pods of one template usually have equal labels.
const maxLabels = 20

// labelsOf returns the labels of a Pod, or of the pods that a workload's template creates.
func labelsOf(u *unstructured.Unstructured) labels.Set {
	if u.GetKind() == "Pod" {
		return u.GetLabels()
	}
	for _, path := range [][]string{{"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}} {
		if set, _, _ := unstructured.NestedStringMap(u.Object, append(path, "metadata", "labels")...); len(set) > 0 {
			return set
		}
	}
	return nil
}

// IsNode reports whether o is a Node. Nodes have no namespace, but Events about them do.
func IsNode(o owner.Ref) bool { return o.GroupKind() == schema.GroupKind{Kind: "Node"} }

// RefersTo reports whether o has been learned to belong to the root, by a reference or because it
// targets the root or its pods.
func (s *Subject) RefersTo(o owner.Ref) bool {
	if IsNode(o) {
		o.Namespace = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[o.NameKey()]
}

// IsTargetOf reports whether u targets the root or its pods: a Service that selects the pods, an
// Ingress to such a Service or the root, a PodDisruptionBudget that selects the pods, or a
// HorizontalPodAutoscaler of the root. An empty selector selects nothing, although that of a
// PodDisruptionBudget selects all pods of its namespace. IsTargetOf records u if it returns true.
func (s *Subject) IsTargetOf(u *unstructured.Unstructured) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.targets(u) {
		return false
	}
	this := owner.Ref{GroupVersionKind: u.GroupVersionKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
	s.known[this.NameKey()] = true
	return true
}

// mayTarget reports whether the result of IsTargetOf for this kind may change when the subject
// learns more.
func mayTarget(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Kind: "Service"} || kind == schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"} ||
		kind == schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}
}

// version returns a number that changes when IsTargetOf may return true for more objects.
func (s *Subject) version() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.learned
}

func (s *Subject) targets(u *unstructured.Unstructured) bool {
	switch u.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Service"}:
		selector, _, _ := unstructured.NestedStringMap(u.Object, "spec", "selector")
		if len(selector) == 0 || !s.selects(u.GetNamespace(), labels.SelectorFromSet(selector)) {
			return false
		}
		this := objectName{u.GetNamespace(), u.GetName()}
		if !s.services[this] {
			s.services[this] = true
			s.learned++
		}
		return true
	case schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}:
		return s.selects(u.GetNamespace(), selectorOf(u))
	case schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		return s.scales(u)
	case schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}:
		return s.routes(u.GetNamespace(), u.Object["spec"])
	}
	return false
}

// scales reports whether a HorizontalPodAutoscaler scales the root.
func (s *Subject) scales(u *unstructured.Unstructured) bool {
	target, _, _ := unstructured.NestedStringMap(u.Object, "spec", "scaleTargetRef")
	kind := schema.FromAPIVersionAndKind(target["apiVersion"], target["kind"])
	isRoot := kind.GroupKind() == s.root.GroupKind() || target["apiVersion"] == "" && kind.Kind == s.root.Kind
	return isRoot && target["name"] == s.root.Name && s.mayBeIn(u.GetNamespace())
}

// mayBeIn reports whether the root may be in a namespace.
func (s *Subject) mayBeIn(namespace string) bool {
	return s.root.Namespace == "" || s.root.Namespace == namespace
}

func (s *Subject) selects(namespace string, by labels.Selector) bool {
	for _, set := range s.labels {
		if set.namespace == namespace && !by.Empty() && by.Matches(set) {
			return true
		}
	}
	return false
}

func selectorOf(u *unstructured.Unstructured) labels.Selector {
	selector, _, _ := unstructured.NestedMap(u.Object, "spec", "selector")
	var by metav1.LabelSelector
	text, err := json.Marshal(selector)
	if err == nil {
		err = json.Unmarshal(text, &by)
	}
	if parsed, wrong := metav1.LabelSelectorAsSelector(&by); err == nil && wrong == nil {
		return parsed
	}
	return labels.Nothing()
}

// routes reports whether part of an Ingress names one of the Services or the root.
func (s *Subject) routes(namespace string, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		name, _, _ := unstructured.NestedString(part, "service", "name")
		if name != "" && (s.services[objectName{namespace, name}] || s.root.Kind == "Service" && s.root.Name == name && s.mayBeIn(namespace)) {
			return true
		}
		for _, child := range part {
			if s.routes(namespace, child) {
				return true
			}
		}
	case []any:
		for _, child := range part {
			if s.routes(namespace, child) {
				return true
			}
		}
	}
	return false
}
