package ask

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/reason"
	"dwatch/watcher/object/status"
)

// Cause is why an object is not ready, as far as it does not say so itself. The zero Cause: that is
// not known.
type Cause struct {
	// Of is the object that is wrong, such as po/web-x7; empty: it is the one that was asked about.
	Of, Text string
	// Denied are the resources that this user may not list.
	Denied []string
}

// maxPods is how many pods of a namespace are looked at.
const maxPods = 500

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

// Cause finds out why an object is not ready: what is wrong with the first of the pods that belong to
// it, and what the newest Warning says if that is not all. It asks for pods, for Events, and for the
// owners of what is between; nothing if the object itself says why.
func (c *Client) Cause(ctx context.Context, o event.Object) Cause {
	u, err := o.Open()
	if err != nil {
		return Cause{}
	}
	known := reason.Of(u)
	if known.Text != "" && !known.Open {
		return Cause{}
	}
	s := &search{Client: c, root: refTo(o), known: map[owner.Ref][]owner.Owner{}}
	var wrong *unstructured.Unstructured
	if owner.HasPods(o.GroupVersionKind().GroupKind()) && o.Namespace != "" {
		wrong = s.pod(ctx, u)
	}
	if wrong == nil {
		s.found.Of, s.found.Text = s.warning(ctx, s.root)
		return s.found
	}
	s.found.Of = "po/" + wrong.GetName()
	_, s.found.Text = status.Of(wrong)
	if r := reason.Of(wrong); r.Text == "" || r.Open {
		about := owner.Ref{GroupVersionKind: wrong.GroupVersionKind(), Namespace: wrong.GetNamespace(), Name: wrong.GetName(), UID: wrong.GetUID()}
		if _, warning := s.warning(ctx, about); warning != "" {
			s.found.Text += "; " + warning
		}
	}
	return s.found
}

// search is for the cause of one object, the root.
type search struct {
	*Client
	root  owner.Ref
	known map[owner.Ref][]owner.Owner // the owners of what was met
	all   bool                        // all pods that there are were met
	found Cause
}

// pod returns the pod that is wrong: one that says why before the others, and the newest of these.
// Of a Deployment only those of the newest template count, others are about to go.
func (s *search) pod(ctx context.Context, u *unstructured.Unstructured) (wrong *unstructured.Unstructured) {
	list, err := s.content.Resource(podsResource).Namespace(s.root.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selectorOf(u), Limit: maxPods})
	if err != nil {
		s.deny("pods", err)
		return nil
	}
	slices.SortStableFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time)
	})
	s.all = list.GetContinue() == ""
	for i := range list.Items {
		s.known[podRef(&list.Items[i]).Named()] = owner.Of(&list.Items[i])
	}
	template := ""
	for i := range list.Items {
		one := &list.Items[i]
		of := one.GetLabels()["pod-template-hash"]
		if template != "" && of != template || !s.belongs(ctx, podRef(one)) {
			continue
		}
		if s.root.Kind == "Deployment" {
			template = of
		}
		if word, _ := status.Of(one); word != kstatus.FailedStatus && word != kstatus.InProgressStatus {
			continue
		}
		r := reason.Of(one)
		if isSure := r.Text != "" && !r.Open; isSure {
			return one
		}
		if wrong == nil {
			wrong = one
		}
	}
	return wrong
}

func podRef(u *unstructured.Unstructured) owner.Ref {
	return owner.Ref{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID()}
}

// selectorOf is by what an object finds its pods; empty if it does not say.
func selectorOf(u *unstructured.Unstructured) string {
	selector, _, _ := unstructured.NestedMap(u.Object, "spec", "selector")
	text, err := json.Marshal(selector)
	if err != nil {
		return ""
	}
	var by metav1.LabelSelector
	if u.GetKind() == "ReplicationController" {
		err = json.Unmarshal(text, &by.MatchLabels)
	} else {
		err = json.Unmarshal(text, &by)
	}
	parsed, invalid := metav1.LabelSelectorAsSelector(&by)
	if err != nil || invalid != nil {
		return ""
	}
	return parsed.String()
}

// warning returns the newest Warning about an object, or what belongs to it as the root, and the
// object that it is about if that is another one.
func (s *search) warning(ctx context.Context, about owner.Ref) (of, text string) {
	namespace := namespaceIn(about.Namespace)
	warnings, err := s.events(ctx, namespace, fields.Set{"type": corev1.EventTypeWarning})
	if err != nil {
		s.deny("events", err)
		return "", ""
	}
	for _, w := range warnings[:min(len(warnings), maxTraced)] {
		switch {
		case w.About.Means(about):
			return "", saidBy(w)
		case about == s.root && s.belongs(ctx, w.About):
			return s.nameOf(ctx, w.About), saidBy(w)
		}
	}
	return "", ""
}

func saidBy(w kubeevent.Event) string { return reason.Event(w) + ago(w.Last) }

func (s *search) nameOf(ctx context.Context, o owner.Ref) string {
	if where, err := s.placeOf(ctx, o); err == nil && where != nil {
		return s.mapper.ShortName(where.resource) + "/" + o.Name
	}
	return strings.ToLower(o.Kind) + "/" + o.Name
}

// belongs reports whether an object belongs to the root. What can't be known does not.
func (s *search) belongs(ctx context.Context, o owner.Ref) bool {
	related, _ := owner.Belongs(ctx, o, func(r owner.Ref) bool { return r.Means(s.root) }, func(ctx context.Context, r owner.Ref) ([]owner.Owner, error) {
		owners, ok := s.known[r.Named()]
		if !ok && !(s.all && r.Kind == "Pod") {
			var err error
			if owners, err = s.owners(ctx, r); err != nil {
				s.deny(strings.ToLower(r.Kind)+"s", err)
			}
			s.known[r.Named()] = owners
		}
		return owners, nil
	})
	return related
}

func (s *search) deny(resource string, err error) {
	if apierrors.IsForbidden(err) && !slices.Contains(s.found.Denied, resource) {
		s.found.Denied = append(s.found.Denied, resource)
	}
}
