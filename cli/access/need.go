package access

import (
	"fmt"
	"strconv"
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

// Selection is what decides, besides its targets, which rights a run takes.
type Selection struct {
	LabelSelector string
	FieldSelector string
}

// need is the right that watching t takes. To watch definitions and API services,
// which show when a resource comes, is not needed: without it dwatch polls.
func (s Selection) need(t event.Target) need {
	n := need{
		resource:      t.Resource(),
		namespace:     t.Namespace,
		name:          t.Name,
		fieldSelector: s.FieldSelector,
		labelSelector: s.LabelSelector,
	}
	// A selector of one name is to the server what a name is: no right to more
	// is asked for.
	if selector, err := fields.ParseSelector(s.FieldSelector); n.name == "" && err == nil {
		n.name, _ = selector.RequiresExactMatch(metav1.ObjectNameField)
	}
	return n
}

// refusal says that user lacks verbs, as the server would say it. An empty user is
// whoever reads it.
func (n need) refusal(user string, verbs ...string) string {
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
