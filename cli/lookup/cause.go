package lookup

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/lru"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/reason"
	"dwatch/watcher/object/status"
)

// Cause is the reason why an object is not ready, if it was found outside the object.
type Cause struct {
	// Text is the reason, or empty if none was found. Object is the object that Text is about, such as po/web-x7. If empty, it
	// is the object itself.
	Object, Text string
	// Pod is the failing pod, or nil.
	Pod *unstructured.Unstructured
	// Denied are the resources that this user may not read, so that the reason may be there.
	Denied []string
}

const (
	// maxPods is the maximum number of pods of a namespace that are searched, and of objects of a kind in listDescendants.
	maxPods = 500
	// maxLookups is the maximum number of owner lookups per search. A later search uses the cache, so it can look up the owners
	// of other objects.
	maxLookups = 20
)

var (
	podsResource = corev1.SchemeGroupVersion.WithResource("pods")
	setsResource = appsv1.SchemeGroupVersion.WithResource("replicasets")
)

// CauseFinder finds out why objects are not ready. It caches the owners of objects and the values of Secrets. Only Logs and
// CacheSecrets are safe for concurrent use.
type CauseFinder struct {
	*Client
	masks   *change.Masks
	owned   *lru.Cache // owners by Ref without version; only objects with a UID
	secrets *secretCache
}

// NewCauseFinder returns a CauseFinder that applies masks to its texts.
func (c *Client) NewCauseFinder(masks *change.Masks) *CauseFinder {
	return &CauseFinder{Client: c, masks: masks, owned: lru.New(maxRecent), secrets: newSecretCache()}
}

// FindCause finds out why an object is not ready: the problem of its failing pod, and the newest Warning about the pod unless
// the pod states the problem itself. Without a failing pod, FindCause uses the newest Warning about the object or the objects
// that it owns. If the object itself states the problem, it returns a zero Cause and makes no request.
func (c *CauseFinder) FindCause(ctx context.Context, o event.Object) Cause {
	u, err := o.Decode()
	if err != nil {
		return Cause{}
	}
	if status.Of(u).SelfReported {
		return Cause{}
	}
	s := c.search(refTo(o))
	var wrong *unstructured.Unstructured
	if owner.MayOwnPods(o.GroupVersionKind().GroupKind()) && o.Namespace != "" {
		wrong = s.pod(ctx, u)
	}
	if wrong == nil {
		s.found.Object, s.found.Text = s.warning(ctx, s.root)
		if s.found.Text == "" && s.root.Kind == "PersistentVolumeClaim" && s.root.Group == "" {
			s.found.Text = s.firstConsumer(ctx)
		}
		return s.found
	}
	s.found.Object, s.found.Pod = "po/"+wrong.GetName(), wrong
	state := status.OfMasked(wrong, c.masks.MaskObject)
	s.found.Text = cmp.Or(state.Message, state.Word.String())
	if !state.SelfReported {
		about := owner.Ref{GroupVersionKind: wrong.GroupVersionKind(), Namespace: wrong.GetNamespace(), Name: wrong.GetName(), UID: wrong.GetUID()}
		if _, warning := s.warning(ctx, about); warning != "" {
			s.found.Text += "; " + warning
		}
	}
	return s.found
}

// FindCrashLoop returns a pod of a workload that keeps crashing, even if it runs at the moment, and why. pod is empty if there
// is none.
func (c *CauseFinder) FindCrashLoop(ctx context.Context, o event.Object) (pod, why string, err error) {
	u, err := o.Decode()
	if err != nil {
		return "", "", err
	}
	s := c.search(refTo(o))
	list, err := s.content.Resource(podsResource).Namespace(s.root.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selectorOf(u), Limit: maxPods})
	if err != nil {
		return "", "", err
	}
	for i := range list.Items {
		one := &list.Items[i]
		if status.Of(one).ClearsAt.IsZero() {
			continue
		}
		s.known[podRef(one).NameKey()] = owner.FromObject(one)
		if !s.belongs(ctx, podRef(one)) {
			continue
		}
		return "po/" + one.GetName(), status.OfMasked(one, c.masks.MaskObject).Message, nil
	}
	return "", "", nil
}

func (c *CauseFinder) search(root owner.Ref) *search {
	return &search{CauseFinder: c, root: root, known: map[owner.Ref][]owner.Owner{}}
}

// search is a search for the cause of one object, the root.
type search struct {
	*CauseFinder
	root    owner.Ref
	known   map[owner.Ref][]owner.Owner // owners of the objects listed so far, by Ref.NameKey
	all     bool                        // known has all pods that may belong to the root: those that its selector matches
	lookups int
	found   Cause
}

// pod returns the failing pod of the root u, or nil. It prefers pods that state their problem, and then newer ones. For a
// Deployment, only pods of the newest template count, because the others are about to be deleted. A pod that has failed for
// good counts only if there is no other, except for a Job.
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
		s.known[podRef(&list.Items[i]).NameKey()] = owner.FromObject(&list.Items[i])
	}
	template := ""
	if s.root.Kind == "Deployment" {
		template = s.template(ctx, u, list.Items)
	}
	var failed *unstructured.Unstructured // for good
	for i := range list.Items {
		one := &list.Items[i]
		is := status.Of(one)
		if !is.IsNotReady() {
			continue
		}
		if template != "" && one.GetLabels()[templateHash] != template || !s.belongs(ctx, podRef(one)) {
			continue
		}
		switch {
		case s.root.Kind != "Job" && status.IsFailedPod(one):
			failed = cmp.Or(failed, one)
		case is.SelfReported:
			return one
		default:
			wrong = cmp.Or(wrong, one)
		}
	}
	return cmp.Or(wrong, failed)
}

// templateHash is the label that identifies the template of a Deployment's pods and ReplicaSets.
const templateHash = appsv1.DefaultDeploymentUniqueLabelKey

// template returns the hash of the newest template of a Deployment u: the one of its ReplicaSet with the highest revision, or
// if no ReplicaSet was found, the one of its newest pod.
func (s *search) template(ctx context.Context, u *unstructured.Unstructured, pods []unstructured.Unstructured) (newest string) {
	sets, err := s.objects.Resource(setsResource).Namespace(s.root.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selectorOf(u), Limit: maxNames})
	if err == nil {
		most := int64(-1)
		for i := range sets.Items {
			set := &sets.Items[i]
			ref := owner.Ref{GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), Namespace: set.Namespace, Name: set.Name, UID: set.UID}
			s.known[ref.NameKey()] = owner.FromObject(set)
			revision, err := strconv.ParseInt(set.Annotations["deployment.kubernetes.io/revision"], 10, 64)
			if err == nil && revision > most && s.belongs(ctx, ref) {
				most, newest = revision, set.Labels[templateHash]
			}
		}
	}
	for i := 0; newest == "" && i < len(pods); i++ {
		if s.belongs(ctx, podRef(&pods[i])) {
			newest = pods[i].GetLabels()[templateHash]
		}
	}
	return newest
}

func podRef(u *unstructured.Unstructured) owner.Ref {
	return owner.Ref{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID()}
}

// selectorOf returns the label selector in spec.selector, or an empty string if there is none or it is invalid.
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

// warning returns the text of the newest Warning about an object. If the object is the root, the Warning may also be about an
// object that belongs to it, which of then names.
func (s *search) warning(ctx context.Context, about owner.Ref) (of, text string) {
	namespace := namespaceIn(about.Namespace)
	warnings, err := s.events(ctx, namespace, fields.Set{"type": corev1.EventTypeWarning}, s.masks)
	if err != nil {
		s.deny("events", err)
		return "", ""
	}
	for _, w := range warnings[:min(len(warnings), maxTraced)] {
		switch {
		case w.InvolvedObject.RefersTo(about):
			return "", textWithAge(w)
		case about == s.root && s.belongs(ctx, w.InvolvedObject):
			return s.nameOf(ctx, w.InvolvedObject), textWithAge(w)
		}
	}
	return "", ""
}

// firstConsumer returns the text of the Event that says that a claim waits for its first consumer. The Event is not a
// Warning, and the claim itself does not say so.
func (s *search) firstConsumer(ctx context.Context) string {
	events, err := s.events(ctx, namespaceIn(s.root.Namespace), fields.Set{"reason": "WaitForFirstConsumer"}, s.masks)
	if err != nil {
		return ""
	}
	for _, e := range events[:min(len(events), maxTraced)] {
		if e.InvolvedObject.RefersTo(s.root) {
			return reason.Event(e)
		}
	}
	return ""
}

func textWithAge(w kubeevent.Event) string { return reason.Event(w) + ago(w.LastSeen) }

func (s *search) nameOf(ctx context.Context, o owner.Ref) string {
	if where, err := s.placeOf(ctx, o); err == nil && where != nil {
		return s.mapper.ShortName(where.resource) + "/" + o.Name
	}
	return strings.ToLower(o.Kind) + "/" + o.Name
}

// belongs reports whether an object is the root or the root owns it, directly or indirectly. It is false if the owners can't
// be looked up.
func (s *search) belongs(ctx context.Context, o owner.Ref) bool {
	related, _ := owner.SelfOrOwnerMatches(ctx, o, func(r owner.Ref) bool { return r.RefersTo(s.root) }, func(ctx context.Context, r owner.Ref) ([]owner.Owner, error) {
		if owners, ok := s.known[r.NameKey()]; ok {
			return owners, nil
		}
		if s.all && r.Kind == "Pod" {
			return nil, nil
		}
		return s.lookUp(ctx, r), nil
	})
	return related
}

// lookUp returns the owners of an object from the cache or the server. It returns none after maxLookups requests, and if the
// owners can't be read.
func (s *search) lookUp(ctx context.Context, r owner.Ref) []owner.Owner {
	key := r
	key.Version = ""
	if owners, ok := s.owned.Get(key); ok {
		return owners.([]owner.Owner)
	}
	where, err := s.placeOf(ctx, r)
	if err != nil || where == nil || s.lookups >= maxLookups {
		return nil
	}
	s.lookups++
	owners, err := s.get(ctx, *where, r)
	switch {
	case err != nil:
		s.deny(where.resource.Resource, err)
	case r.UID != "":
		s.owned.Add(key, owners)
	}
	if err == nil || apierrors.IsForbidden(err) {
		s.known[r.NameKey()] = owners
	}
	return owners
}

// deny records that the user may not read a resource, if that is what err means.
func (s *search) deny(resource string, err error) {
	if apierrors.IsForbidden(err) && !slices.Contains(s.found.Denied, resource) {
		s.found.Denied = append(s.found.Denied, resource)
	}
}
