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
	// detailTimeout bounds the questions about one error, or about all that end dwatch.
	detailTimeout = 2 * time.Second
	// maxNamespaces is how many namespaces are asked about where all are denied.
	maxNamespaces = 3
)

// deniedError is a denial, with what the server says when it is asked.
type deniedError struct {
	error
	both bool   // neither list nor watch is allowed
	hint string // what to do, besides getting the right; may be empty
}

func (e deniedError) Unwrap() error { return e.error }

// Explain is the server's message: it names user, verb, resource and namespace, but only
// the verb that it met first.
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
	message += "; dwatch needs the verbs list and watch, dwatch rbac prints a role with them"
	if e.hint != "" {
		message += "; " + e.hint
	}
	return message
}

// deniedVerb is the verb in the API server's message; empty if it is none of watchVerbs.
func deniedVerb(message string) string {
	for _, verb := range watchVerbs {
		if strings.Contains(message, " cannot "+verb+" ") {
			return verb
		}
	}
	return ""
}

// Detail finds out more about each denial in err. It blocks for at most two seconds.
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
	n := r.WatchPermission(of.Target)
	switch deniedVerb(status.Status().Message) {
	case "list":
		denied.both = r.lacks(ctx, n, "watch")
	case "watch":
		denied.both = r.lacks(ctx, n, "list")
	}
	if of.Target.Namespaced() && n.namespace == "" {
		denied.hint = r.narrower(ctx, n)
	}
	return denied
}

// narrower says which namespaces to ask for instead of all: what is denied in all may be
// allowed in some. Asked about are those that -A has overruled, and that of the context.
func (r *Checker) narrower(ctx context.Context, n Permission) string {
	var allowed []string
	likely := append(slices.Clone(r.options.Namespaces), r.cluster.Namespace)
	for _, n.namespace = range likely[max(0, len(likely)-maxNamespaces):] {
		if slices.Contains(allowed, n.namespace) {
			continue
		}
		if may, known := r.may(ctx, n, "watch"); may && known {
			allowed = append(allowed, n.namespace)
		}
	}
	if len(allowed) == 0 {
		return "-n NAMESPACE takes the right in that namespace only"
	}
	return fmt.Sprintf("it is allowed with -n %s instead of -A, and perhaps in other namespaces", strings.Join(allowed, ","))
}
