package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is denied in all namespaces may be allowed in some.

const (
	// maxGuesses is how many namespaces are asked about in a run; then only likely
	// ones, for each denial.
	maxGuesses = 96
	// guessers is how many of them at a time.
	guessers = 8
	// maxNamed is how many namespaces a line can name.
	maxNamed = 8
)

// narrower says which namespaces to ask for instead of all.
func (r *Rights) narrower(ctx context.Context, n need) string {
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

// candidates are the namespaces to ask about, likely ones first; all means that
// there are no others.
func (r *Rights) candidates(ctx context.Context) (names []string, all bool) {
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
func (r *Rights) listNamespaces(ctx context.Context) (names []string, all bool) {
	names = append(names, r.cluster.Namespace)
	for _, n := range r.options.Namespaces {
		if n != r.cluster.Namespace {
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
func (r *Rights) among(ctx context.Context, n need, namespaces []string) []string {
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
func (r *Rights) expect(found, others []string) {
	if len(found) == 0 {
		return
	}
	r.likely = min(len(found), maxNamed)
	r.namespaces = slices.Concat(found, others, r.namespaces[len(found)+len(others):])
}
