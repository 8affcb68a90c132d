package access

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// BuildRoles returns the smallest roles that grant needs to subject: a ClusterRole and its binding, then a Role and its
// binding for each namespace. The result does not depend on the order of needs.
func BuildRoles(needs []Permission, subject rbacv1.Subject) []any {
	byNamespace := map[string][]Permission{}
	for _, n := range needs {
		byNamespace[n.namespace] = append(byNamespace[n.namespace], n)
	}
	var objects []any
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		rules := rulesFor(byNamespace[namespace])
		meta := metav1.ObjectMeta{Name: roleName(rules, subject), Namespace: namespace}
		objects = append(objects, roleAndBinding(meta, rules, subject)...)
	}
	return objects
}

// roleAndBinding uses the types ClusterRole and ClusterRoleBinding also for a Role and a RoleBinding, which differ only in
// their kind.
func roleAndBinding(meta metav1.ObjectMeta, rules []rbacv1.PolicyRule, subject rbacv1.Subject) []any {
	kind := "Role"
	if meta.Namespace == "" {
		kind = "ClusterRole"
	}
	typeMeta := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
	}
	return []any{
		rbacv1.ClusterRole{TypeMeta: typeMeta(kind), ObjectMeta: meta, Rules: rules},
		rbacv1.ClusterRoleBinding{
			TypeMeta: typeMeta(kind + "Binding"), ObjectMeta: meta, Subjects: []rbacv1.Subject{subject},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: meta.Name},
		},
	}
}

// rulesFor returns the rules for the permissions in one namespace. A rule grants each of its verbs on each of its resources
// and names, so only resources of one group with the same verbs and names can share a rule.
func rulesFor(needs []Permission) []rbacv1.PolicyRule {
	rules := map[string]*rbacv1.PolicyRule{}
	for what, names := range namesByAction(needs) {
		key := fmt.Sprintf("%q %q %q", what.Group, what.verbs, names)
		if rules[key] == nil {
			rules[key] = &rbacv1.PolicyRule{APIGroups: []string{what.Group}, ResourceNames: names, Verbs: strings.Fields(what.verbs)}
		}
		rules[key].Resources = append(rules[key].Resources, what.Resource)
	}
	var sorted []rbacv1.PolicyRule
	for _, rule := range rules {
		slices.Sort(rule.Resources)
		sorted = append(sorted, *rule)
	}
	slices.SortFunc(sorted, func(a, b rbacv1.PolicyRule) int {
		return cmp.Or(slices.Compare(a.APIGroups, b.APIGroups), slices.Compare(a.Resources, b.Resources), slices.Compare(a.Verbs, b.Verbs))
	})
	return sorted
}

// action is a resource and the verbs that are needed for it, separated by spaces.
type action struct {
	schema.GroupResource
	verbs string
}

// namesByAction returns the sorted names that are needed for each action; nil means all.
func namesByAction(needs []Permission) map[action][]string {
	names := map[action][]string{}
	for _, n := range needs {
		what := action{n.resource.GroupResource(), strings.Join(n.verbs, " ")}
		known, seen := names[what]
		switch {
		case n.name == "" || seen && known == nil:
			names[what] = nil
		case !slices.Contains(known, n.name):
			names[what] = slices.Sorted(slices.Values(append(known, n.name)))
		}
	}
	return names
}

// maxReadable is the maximum length of the part of a role's name that lists resources.
const maxReadable = 40

// roleName lists the resources, for people, and ends in a hash, so that roles for other arguments or users get other names.
func roleName(rules []rbacv1.PolicyRule, subject rbacv1.Subject) string {
	var resources []string
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			name := schema.GroupResource{Group: rule.APIGroups[0], Resource: resource}.String()
			if !slices.Contains(resources, name) {
				resources = append(resources, name)
			}
		}
	}
	readable := strings.ReplaceAll(strings.Join(resources, "-"), "/", "-")
	if len(readable) > maxReadable {
		readable = strings.TrimRight(readable[:maxReadable], "-.")
	}
	content, err := json.Marshal([]any{rules, subject})
	if err != nil {
		panic(err) // unreachable: structs of strings can be marshaled
	}
	return fmt.Sprintf("dwatch-%s-%x", readable, sha256.Sum256(content))[:len("dwatch--")+len(readable)+8]
}
