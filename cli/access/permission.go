package access

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/owner"
)

// watchVerbs are what watching takes of each resource: dwatch watches, and it lists
// where the server does not stream what is there.
var watchVerbs = []string{"list", "watch"}

// Need is the right to do something with the objects of a resource.
type Permission struct {
	verbs         []string // sorted
	resource      schema.GroupVersionResource
	namespace     string // empty: cluster-wide
	name          string // empty: all
	fieldSelector string
	labelSelector string
}

// Watch is the need of watching t. To watch definitions and API services, which show
// when a resource comes, is not needed: without it dwatch polls.
func (r *Checker) WatchPermission(t event.Target) Permission {
	n := Permission{
		verbs:         watchVerbs,
		resource:      t.Resource(),
		namespace:     t.Namespace,
		name:          t.Name,
		fieldSelector: r.options.FieldSelector,
		labelSelector: r.options.LabelSelector,
	}
	// A selector of one name is to the server what a name is: no right to more is asked for.
	if selector, err := fields.ParseSelector(r.options.FieldSelector); n.name == "" && err == nil {
		n.name, _ = selector.RequiresExactMatch(metav1.ObjectNameField)
	}
	return n
}

// Identity is the need of what knows the cluster by more than its address: a state file,
// and the source of CloudEvents. See cluster.Cluster.Identity.
func IdentityPermission() Permission {
	return Permission{verbs: []string{"get"}, resource: core("namespaces"), name: metav1.NamespaceSystem}
}

// Lease is the need of who takes part in the election by a Lease: to make it, which can't be of one name, and to read and write it.
func LeasePermissions(namespace, name string) []Permission {
	leases := coordinationv1.SchemeGroupVersion.WithResource("leases")
	return []Permission{
		{verbs: []string{"create"}, resource: leases, namespace: namespace},
		{verbs: []string{"get", "update"}, resource: leases, namespace: namespace, name: name},
	}
}

// Namespaces is the need of finding out which namespaces there are, as they come and go.
func NamespacesPermission() Permission {
	return Permission{verbs: watchVerbs, resource: core("namespaces")}
}

// Owners are the needs of finding out which Events, in one namespace or with "" in all,
// are about an object of root's resource, or about what it owns: to get what Events are
// about, and its owners. Those are the built-in workloads. What else may stand between
// is not known beforehand; a run says what it was denied.
func OwnerPermissions(root event.Target, namespace string) []Permission {
	resources := []schema.GroupVersionResource{core("pods"), core("replicationcontrollers")}
	for _, resource := range []string{"daemonsets", "deployments", "replicasets", "statefulsets"} {
		resources = append(resources, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource})
	}
	for _, resource := range []string{"cronjobs", "jobs"} {
		resources = append(resources, schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: resource})
	}
	var needs []Permission
	add := func(resource schema.GroupVersionResource, namespace string) {
		needs = append(needs, Permission{verbs: []string{"get"}, resource: resource, namespace: namespace})
	}
	for _, resource := range resources {
		add(resource, namespace)
	}
	switch {
	case !root.Namespaced():
		add(root.Resource(), "")
	case !slices.Contains(resources, root.Resource()):
		add(root.Resource(), namespace)
	}
	return needs
}

// List is the need of listing all objects of a resource, in one namespace or with "" in all.
func ListPermission(resource schema.GroupVersionResource, namespace string) Permission {
	return Permission{verbs: []string{"list"}, resource: resource, namespace: namespace}
}

// Reasons are the needs of finding out why an object of a target is not ready, and of the Events about it and
// what it owns: to list Events, and where it may own pods, these, and to get what is between; ReplicaSets also to list.
func ReasonPermissions(t event.Target) []Permission {
	if !t.Namespaced() {
		return []Permission{ListPermission(core("events"), metav1.NamespaceDefault)}
	}
	needs := []Permission{ListPermission(core("events"), t.Namespace)}
	kind := t.Mapping.GroupVersionKind.GroupKind()
	if !owner.MayOwnPods(kind) {
		return needs
	}
	needs = append(needs, ListPermission(core("pods"), t.Namespace))
	switch kind.String() {
	case "Deployment.apps":
		between := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
		return append(needs, Permission{verbs: []string{"get", "list"}, resource: between, namespace: t.Namespace})
	case "CronJob.batch":
		between := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
		return append(needs, Permission{verbs: []string{"get"}, resource: between, namespace: t.Namespace})
	case "ReplicaSet.apps", "StatefulSet.apps", "DaemonSet.apps", "Job.batch", "ReplicationController":
		return needs
	}
	return append(needs, OwnerPermissions(t, t.Namespace)...)
}

// Logs is the need of reading what containers in the namespace of a target have written: of its pods
// the names are not known beforehand.
func LogsPermission(t event.Target) Permission {
	return Permission{verbs: []string{"get"}, resource: core("pods/log"), namespace: t.Namespace}
}

// Add returns needs with those of more that they do not have in them.
func AddPermissions(needs []Permission, more ...Permission) []Permission {
	for _, n := range more {
		if !slices.ContainsFunc(needs, func(has Permission) bool { return has.covers(n) }) {
			needs = append(slices.DeleteFunc(needs, n.covers), n)
		}
	}
	return needs
}

// covers reports whether the right to n is part of that to o.
func (o Permission) covers(n Permission) bool {
	lacks := func(verb string) bool { return !slices.Contains(o.verbs, verb) }
	return o.resource.GroupResource() == n.resource.GroupResource() && (o.namespace == "" || o.namespace == n.namespace) && (o.name == "" || o.name == n.name) &&
		!slices.ContainsFunc(n.verbs, lacks)
}

func core(resource string) schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource(resource)
}

// refusal says that user lacks verbs, as the server would say it. An empty user is
// whoever reads it.
func (n Permission) refusal(user string, verbs ...string) string {
	who := "you"
	if user != "" {
		who = "User " + strconv.Quote(user)
	}
	where := "at the cluster scope"
	if n.namespace != "" {
		where = "in the namespace " + strconv.Quote(n.namespace)
	}
	return fmt.Sprintf("%s cannot %s resource %q in API group %q %s",
		who, strings.Join(verbs, " or "), n.resource.Resource, n.resource.Group, where)
}
