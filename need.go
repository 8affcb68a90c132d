package main

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// verbs are what dwatch needs of each resource: it watches, and it lists where
// the server does not stream what is there.
var verbs = [...]string{"list", "watch"}

// need is the right that watching takes: to list and watch a resource.
type need struct {
	resource      schema.GroupVersionResource
	namespace     string // empty: cluster-wide
	name          string // empty: all
	fieldSelector string
	labelSelector string
}

// needsOf are the rights that a run takes. To watch definitions and API services,
// which tell when a resource comes, is none of them: without it dwatch polls.
func needsOf(targets []event.Target, r *request) []need {
	var needs []need
	for _, t := range targets {
		needs = append(needs, needOf(t, r))
	}
	return needs
}

func needOf(t event.Target, r *request) need {
	n := need{
		resource:      t.Resource(),
		namespace:     t.Namespace,
		name:          t.Name,
		fieldSelector: r.fieldSelector,
		labelSelector: r.selector,
	}
	// A selector of one name is to the server what a name is: no right to more
	// is asked for.
	if selector, err := fields.ParseSelector(r.fieldSelector); n.name == "" && err == nil {
		n.name, _ = selector.RequiresExactMatch(metav1.ObjectNameField)
	}
	return n
}

// refusal says in the server's words, which it has no message for, that user
// lacks verbs. An empty user is whoever reads it.
func (n need) refusal(user string, verbs ...string) string {
	who := "you"
	if user != "" {
		who = "User " + quoted(user)
	}
	where := "at the cluster scope"
	if n.namespace != "" {
		where = "in the namespace " + quoted(n.namespace)
	}
	return fmt.Sprintf("%s cannot %s resource %q in API group %q %s",
		who, strings.Join(verbs, " or "), n.resource.Resource, n.resource.Group, where)
}
