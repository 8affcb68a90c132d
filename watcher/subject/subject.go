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

// Subject knows what belongs to an object, the root, beside what it owns: what it and its pods refer
// to, and what stands in front of them, as far as it has learned that. What once belonged to it does so
// to the end. It may be used by several goroutines.
type Subject struct {
	root  owner.Ref
	grown chan struct{} // holds one signal

	mu       sync.Mutex
	refs     []owner.Ref
	known    map[owner.Ref]bool // refs, and what stands in front, by Ref.Named
	labels   []labelled         // its pods
	services map[named]bool     // in front of them
	learned  int                // how often labels or services were added
}

// named is an object of some kind, in a namespace.
type named struct{ namespace, name string }

// labelled are pods in a namespace that have the same labels.
type labelled struct {
	namespace string
	labels.Set
}

// NewSubject returns one that knows nothing yet.
func NewSubject(root owner.Ref) *Subject {
	return &Subject{root: root, grown: make(chan struct{}, 1), known: map[owner.Ref]bool{}, services: map[named]bool{}}
}

// Grown has a signal when Refs has more than before.
func (s *Subject) RefsAdded() <-chan struct{} { return s.grown }

// Refs returns what is referred to, as far as it is known.
func (s *Subject) Refs() []owner.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]owner.Ref(nil), s.refs...)
}

// Learn takes in the root, or a pod that belongs to it.
func (s *Subject) Learn(u *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range refer.References(u) {
		if !s.known[r.NameKey()] && len(s.refs) < maxRefs {
			s.known[r.NameKey()] = true
			s.refs = append(s.refs, r)
			select {
			case s.grown <- struct{}{}:
			default:
			}
		}
	}
	set := labelled{u.GetNamespace(), podLabels(u)}
	isKnown := slices.ContainsFunc(s.labels, func(known labelled) bool {
		return known.namespace == set.namespace && maps.Equal(known.Set, set.Set)
	})
	if len(set.Set) > 0 && !isKnown {
		s.labels = append(s.labels[:min(len(s.labels), maxLabels-1)], set)
		s.learned++
	}
}

// maxRefs is how many objects that are referred to belong to a subject: each is watched by its name.
const maxRefs = 100

// maxLabels is how many sets of labels are kept, the last of them the newest: pods of one template have the
// same, mostly.
const maxLabels = 20

// podLabels are those of a Pod, or of the pods that are made by a template.
func podLabels(u *unstructured.Unstructured) labels.Set {
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

// IsNode reports whether o is a Node, the Events about which have another namespace than it, which has none.
func IsNode(o owner.Ref) bool { return o.GroupKind() == schema.GroupKind{Kind: "Node"} }

// Refers reports whether something is known to be referred to, or to stand in front.
func (s *Subject) RefersTo(o owner.Ref) bool {
	if IsNode(o) {
		o.Namespace = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[o.NameKey()]
}

// Fronts reports whether an object stands in front of the pods, or looks after them: a Service that
// selects them, an Ingress to one of these, a PodDisruptionBudget, a HorizontalPodAutoscaler of the root.
func (s *Subject) IsTargetOf(u *unstructured.Unstructured) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fronts(u) {
		return false
	}
	this := owner.Ref{GroupVersionKind: u.GroupVersionKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
	s.known[this.NameKey()] = true
	return true
}

// mayFront reports whether it depends on the pods that are known whether objects of a kind stand in front of
// them.
func mayFront(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Kind: "Service"} || kind == schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"} ||
		kind == schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}
}

// growth changes when Fronts may say of more objects that they belong to it.
func (s *Subject) growth() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.learned
}

func (s *Subject) fronts(u *unstructured.Unstructured) bool {
	switch u.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Service"}:
		by, _, _ := unstructured.NestedStringMap(u.Object, "spec", "selector")
		if len(by) == 0 || !s.selects(u.GetNamespace(), labels.SelectorFromSet(by)) {
			return false
		}
		this := named{u.GetNamespace(), u.GetName()}
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
		return s.leads(u.GetNamespace(), u.Object["spec"])
	}
	return false
}

// scales reports whether an autoscaler is one of the root.
func (s *Subject) scales(u *unstructured.Unstructured) bool {
	of, _, _ := unstructured.NestedStringMap(u.Object, "spec", "scaleTargetRef")
	kind := schema.FromAPIVersionAndKind(of["apiVersion"], of["kind"])
	isRoot := kind.GroupKind() == s.root.GroupKind() || of["apiVersion"] == "" && kind.Kind == s.root.Kind
	return isRoot && of["name"] == s.root.Name && s.isIn(u.GetNamespace())
}

// isIn reports whether the root may be in a namespace.
func (s *Subject) isIn(namespace string) bool {
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

// leads reports whether a part of an Ingress names one of the Services, or the root.
func (s *Subject) leads(namespace string, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		name, _, _ := unstructured.NestedString(part, "service", "name")
		if name != "" && (s.services[named{namespace, name}] || s.root.Kind == "Service" && s.root.Name == name && s.isIn(namespace)) {
			return true
		}
		for _, below := range part {
			if s.leads(namespace, below) {
				return true
			}
		}
	case []any:
		for _, below := range part {
			if s.leads(namespace, below) {
				return true
			}
		}
	}
	return false
}
