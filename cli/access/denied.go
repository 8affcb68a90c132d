package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/watcher/event"
)

const (
	// detailTimeout limits the queries of one call of DescribeDenials or CannotList.
	detailTimeout = 2 * time.Second
	// maxNamespaces is the maximum number of namespaces that are checked if all namespaces are denied.
	maxNamespaces = 3
)

// deniedError is a denial with the result of further queries.
type deniedError struct {
	error
	needs []string // the verbs that are needed
	both  bool     // neither list nor watch is allowed
	hint  string   // what the user can do instead of getting the permission; may be empty
}

func (e deniedError) Unwrap() error { return e.error }

// Explain returns the server's message, which names the user, resource and namespace, but only the verb that it checked
// first. Explain adds the other verb if it is denied, too, and what to do.
func (e deniedError) Explain() string {
	var status apierrors.APIStatus
	errors.As(e.error, &status)
	message := status.Status().Message
	verb := deniedVerb(message)
	if verb == "" {
		return message
	}
	if e.both {
		message = strings.Replace(message, " cannot "+verb+" ", " cannot "+strings.Join(watchVerbs, " or ")+" ", 1)
	}
	if len(e.needs) == 1 {
		message += "; dwatch needs only the verb " + e.needs[0] + " for this, dwatch rbac prints a role with it"
	} else {
		message += "; dwatch needs the verbs list and watch, dwatch rbac prints a role with them"
	}
	if e.hint != "" {
		message += "; " + e.hint
	}
	return message
}

// deniedVerb returns the verb in the API server's message, or an empty string if it is none that a target needs.
func deniedVerb(message string) string {
	for _, verb := range []string{"get", "list", "watch"} {
		if strings.Contains(message, " cannot "+verb+" ") {
			return verb
		}
	}
	return ""
}

// DescribeDenials adds details and hints to each denial in err. It blocks for at most two seconds.
func (r *Checker) DescribeDenials(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, detailTimeout)
	defer cancel()
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return r.detail(ctx, err)
	}
	var errs []error
	for _, one := range several.Unwrap() {
		errs = append(errs, r.detail(ctx, one))
	}
	return errors.Join(errs...)
}

func (r *Checker) detail(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return err
	}
	denied := deniedError{error: err}
	var of *event.TargetError
	if ctx.Err() != nil || !errors.As(err, &of) {
		return denied
	}
	n := r.TargetPermission(of.Target)
	denied.needs = n.verbs
	if len(n.verbs) > 1 {
		switch deniedVerb(status.Status().Message) {
		case "list":
			denied.both = r.lacks(ctx, n, "watch")
		case "watch":
			denied.both = r.lacks(ctx, n, "list")
		}
	}
	if of.Target.Namespaced() && n.namespace == "" {
		denied.hint = r.narrower(ctx, n)
	}
	return denied
}

// narrower suggests namespaces to watch instead of all. It checks the namespaces of Options and the one of the kubeconfig
// context.
func (r *Checker) narrower(ctx context.Context, n Permission) string {
	var allowed []string
	likely := append(slices.Clone(r.options.Namespaces), r.cluster.Namespace)
	for _, n.namespace = range likely[max(0, len(likely)-maxNamespaces):] {
		if slices.Contains(allowed, n.namespace) {
			continue
		}
		if may, known := r.may(ctx, n, n.verbs[len(n.verbs)-1]); may && known {
			allowed = append(allowed, n.namespace)
		}
	}
	if len(allowed) == 0 {
		return "-n NAMESPACE needs the permission only in that namespace"
	}
	return fmt.Sprintf("it is allowed with -n %s instead of -A, and perhaps in other namespaces", strings.Join(allowed, ","))
}
