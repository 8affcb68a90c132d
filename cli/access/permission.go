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

// watchVerbs are the verbs that dwatch needs for a watched resource. It lists existing objects if the server can't stream them.
var watchVerbs = []string{"list", "watch"}

// Permission is the permission to do something with the objects of a resource.
type Permission struct {
	verbs         []string // sorted
	resource      schema.GroupVersionResource
	namespace     string // if empty, all namespaces or cluster-scoped
	name          string // if empty, all objects
	fieldSelector string
	labelSelector string
}

// TargetPermission is needed to watch t, or with Options.ListOnly to list it once. A named object is then read with get,
// like in kubectl. Watching CustomResourceDefinitions and APIServices is not required: without that
// permission, dwatch polls for new resources.
func (r *Checker) TargetPermission(t event.Target) Permission {
	n := Permission{
		verbs:         r.targetVerbs(t),
		resource:      t.Resource(),
		namespace:     t.Namespace,
		name:          t.Name,
		fieldSelector: r.options.FieldSelector,
		labelSelector: r.options.LabelSelector,
	}
	// The server treats a field selector for one name like the name, so permission for that name is enough.
	if selector, err := fields.ParseSelector(r.options.FieldSelector); n.name == "" && err == nil {
		n.name, _ = selector.RequiresExactMatch(metav1.ObjectNameField)
	}
	return n
}

func (r *Checker) targetVerbs(t event.Target) []string {
	switch {
	case !r.options.ListOnly:
		return watchVerbs
	case t.IsOneObject() && r.options.LabelSelector == "" && r.options.FieldSelector == "" && !r.options.Sharded:
		return []string{"get"}
	}
	return []string{"list"}
}

// IdentityPermission is needed to identify the cluster independently of its address, for a state file and for the source of
// CloudEvents. See cluster.Cluster.Identity.
func IdentityPermission() Permission {
	return Permission{verbs: []string{"get"}, resource: core("namespaces"), name: metav1.NamespaceSystem}
}

// LeasePermissions are needed to take part in the election of --lease: to create the Lease, which RBAC can't restrict to a
// name, and to read and update it.
func LeasePermissions(namespace, name string) []Permission {
	leases := coordinationv1.SchemeGroupVersion.WithResource("leases")
	return []Permission{
		{verbs: []string{"create"}, resource: leases, namespace: namespace},
		{verbs: []string{"get", "update"}, resource: leases, namespace: namespace, name: name},
	}
}

// NamespacesPermission is needed to watch which namespaces exist.
func NamespacesPermission() Permission {
	return Permission{verbs: watchVerbs, resource: core("namespaces")}
}

// OwnerPermissions are needed to find the Events about an object of root's resource and about the objects that it owns: to
// get the objects of Events, and their owners. If namespace is empty, they apply to all namespaces. They cover the built-in
// workloads. A run reports other resources that it was denied.
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

// ListPermission is needed to list all objects of a resource in a namespace, or in all namespaces if namespace is empty.
func ListPermission(resource schema.GroupVersionResource, namespace string) Permission {
	return Permission{verbs: []string{"list"}, resource: resource, namespace: namespace}
}

// ReasonPermissions are needed to find out why an object of a target is not ready, and the Events about it and the objects
// that it owns: to list Events, and if it may own pods, to list pods and to get the owners between them and the object.
// ReplicaSets must also be listed.
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

// LogsPermission is needed to read the logs of a target's pods. It covers all pods of the namespace, because their names are
// not known beforehand.
func LogsPermission(t event.Target) Permission {
	return Permission{verbs: []string{"get"}, resource: core("pods/log"), namespace: t.Namespace}
}

// AddPermissions adds the permissions of more that needs does not cover yet, and removes the ones that they cover.
func AddPermissions(needs []Permission, more ...Permission) []Permission {
	for _, n := range more {
		if !slices.ContainsFunc(needs, func(has Permission) bool { return has.covers(n) }) {
			needs = append(slices.DeleteFunc(needs, n.covers), n)
		}
	}
	return needs
}

// covers reports whether o includes n.
func (o Permission) covers(n Permission) bool {
	lacks := func(verb string) bool { return !slices.Contains(o.verbs, verb) }
	return o.resource.GroupResource() == n.resource.GroupResource() && (o.namespace == "" || o.namespace == n.namespace) && (o.name == "" || o.name == n.name) &&
		!slices.ContainsFunc(n.verbs, lacks)
}

func core(resource string) schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource(resource)
}

// refusal words the lack of verbs like the server's message. If user is empty, it says "you".
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
