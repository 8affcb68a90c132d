package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"dwatch/watcher"
)

const (
	// detailTimeout bounds the questions about one error, or about all that end
	// dwatch.
	detailTimeout = 2 * time.Second
	// maxGuesses is how many namespaces are asked about in a run; then only likely
	// ones, for each denial.
	maxGuesses = 96
	// guessers is how many of them at a time.
	guessers = 8
	// maxNamed is how many namespaces a line can name.
	maxNamed = 8
)

// deniedError is a denial, with what the server says when it is asked.
type deniedError struct {
	error
	both bool   // neither list nor watch is allowed
	hint string // what to do, besides getting the right; may be empty
}

func (e deniedError) Unwrap() error { return e.error }

// message is the server's: it names user, verb, resource and namespace, but only
// the verb that it met first.
func (e deniedError) message() string {
	var status apierrors.APIStatus
	errors.As(e.error, &status)
	message := status.Status().Message
	verb := deniedVerb(message)
	if verb == "" {
		return message
	}
	if e.both {
		message = strings.Replace(message, " cannot "+verb+" ", " cannot "+strings.Join(verbs[:], " or ")+" ", 1)
	}
	message += "; dwatch needs the verbs list and watch, --print-rbac prints a role with them"
	if e.hint != "" {
		message += "; " + e.hint
	}
	return message
}

// deniedVerb is the verb in the server's message; empty if it is another one, or
// not the API server's message.
func deniedVerb(message string) string {
	for _, verb := range verbs {
		if strings.Contains(message, " cannot "+verb+" ") {
			return verb
		}
	}
	return ""
}

// detailAll finds out more about each denial in err. It blocks for at most
// detailTimeout.
func (r *rights) detailAll(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, detailTimeout)
	defer cancel()
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return r.detailOne(ctx, err)
	}
	var errs []error
	for _, one := range several.Unwrap() {
		errs = append(errs, r.detailOne(ctx, one))
	}
	return errors.Join(errs...)
}

func (r *rights) detailOne(ctx context.Context, err error) error {
	var of *watcher.TargetError
	if ctx.Err() != nil || !apierrors.IsForbidden(err) || !errors.As(err, &of) {
		return err
	}
	return r.detail(ctx, of.Target, err)
}

// detail finds out more about the denial of a target.
func (r *rights) detail(ctx context.Context, target watcher.Target, denial error) error {
	detailed := deniedError{error: denial}
	var status apierrors.APIStatus
	if !errors.As(denial, &status) {
		return denial
	}
	n := needOf(target, r.request)
	switch deniedVerb(status.Status().Message) {
	case "list":
		detailed.both = r.lacks(ctx, n, "watch")
	case "watch":
		detailed.both = r.lacks(ctx, n, "list")
	}
	if target.Namespaced() && n.namespace == "" {
		detailed.hint = r.narrower(ctx, n)
	}
	return detailed
}

// narrower says which namespaces to ask for instead of all.
func (r *rights) narrower(ctx context.Context, n need) string {
	candidates, all := r.candidates(ctx)
	allowed := r.among(ctx, n, candidates)
	all = all && ctx.Err() == nil && !r.silent
	switch {
	case len(allowed) == 0 && all:
		return "no namespace allows it either"
	case len(allowed) == 0:
		return "-n NAMESPACE takes the right in that namespace only"
	}
	more := ""
	if len(allowed) > maxNamed {
		allowed, more = allowed[:maxNamed], ", and in other namespaces"
	} else if !all {
		more = ", and perhaps in other namespaces"
	}
	return fmt.Sprintf("it is allowed with -n %s instead of -A%s", strings.Join(allowed, ","), more)
}

// candidates are the namespaces to ask about, likely ones first; all tells that
// there are no others.
func (r *rights) candidates(ctx context.Context) (names []string, all bool) {
	if r.namespaces == nil {
		r.namespaces, r.complete = r.listNamespaces(ctx)
		r.likely = 1
	}
	names, all = r.namespaces, r.complete
	if left := max(r.likely, maxGuesses-r.guesses); len(names) > left {
		names, all = names[:left], false
	}
	r.guesses += len(names)
	return names, all
}

// listNamespaces returns as many namespaces as may be asked about: that of the
// context, those that -A has overruled, and what the user may see of the others.
func (r *rights) listNamespaces(ctx context.Context) (names []string, all bool) {
	names = append(names, r.home)
	for _, n := range r.request.namespaces {
		if n != r.home {
			names = append(names, n)
		}
	}
	list, err := r.objects.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).
		List(ctx, metav1.ListOptions{Limit: maxGuesses})
	if err != nil {
		return names, false
	}
	for _, n := range list.Items {
		if !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names, list.GetContinue() == ""
}

// among returns the namespaces in which n is allowed, as far as the server
// answers in time.
func (r *rights) among(ctx context.Context, n need, namespaces []string) []string {
	if r.silent {
		return nil
	}
	allowed := make([]bool, len(namespaces))
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(guessers)
	for i, namespace := range namespaces {
		n.namespace = namespace
		here := n
		group.Go(func() (err error) {
			allowed[i], err = r.may(asking, here, "watch")
			return err
		})
	}
	if err := group.Wait(); err != nil {
		r.silent = !errors.Is(err, context.Canceled)
	}
	var found, others []string
	for i, namespace := range namespaces {
		if allowed[i] {
			found = append(found, namespace)
		} else {
			others = append(others, namespace)
		}
	}
	r.expect(found, others)
	return slices.Sorted(slices.Values(found))
}

// expect puts first what was found for one resource: what is allowed of the next
// one is probably allowed there, too.
func (r *rights) expect(found, others []string) {
	if len(found) == 0 {
		return
	}
	r.likely = min(len(found), maxNamed)
	r.namespaces = slices.Concat(found, others, r.namespaces[len(found)+len(others):])
}
