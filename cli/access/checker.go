// Package access knows which rights a run takes. It asks the server for them, says
// what is missing and which flag would help, and writes the roles that grant them.
package access

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"dwatch/cli/cluster"
	"dwatch/watcher/event"
)

// Options says whose and which rights are asked for.
type Options struct {
	LabelSelector, FieldSelector string
	// Namespaces are those that may be allowed where all are denied, besides that
	// of the kubeconfig context.
	Namespaces []string
	// Several: there are many targets, so that a wildcard is worth asking for first.
	ManyTargets bool
}

// Rights asks the server what the user may do. Not every server answers that:
// then nothing is known, and nothing is said. It is used from one goroutine.
type Checker struct {
	cluster *cluster.Cluster
	options Options
	access  authorization.SelfSubjectAccessReviewInterface
	self    authentication.SelfSubjectReviewInterface
	silent  bool            // the server does not answer such questions
	lists   map[string]bool // by namespace: the user may list everything there
}

// New makes no request.
func New(c *cluster.Cluster, o Options) (*Checker, error) {
	config := c.QuietConfig()
	access, err := authorization.NewForConfigAndClient(config, c.HTTP)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	self, err := authentication.NewForConfigAndClient(config, c.HTTP)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &Checker{
		cluster: c,
		options: o,
		access:  access.SelfSubjectAccessReviews(),
		self:    self.SelfSubjectReviews(),
		lists:   map[string]bool{},
	}, nil
}

// LacksList reports whether the server says that the user may not list target, with
// a sentence like the server's. It blocks for at most two seconds.
func (r *Checker) CannotList(ctx context.Context, target event.Target) (refusal string, lacks bool) {
	ctx, cancel := context.WithTimeout(ctx, detailTimeout)
	defer cancel()
	n := r.WatchPermission(target)
	if !r.lacksList(ctx, n) {
		return "", false
	}
	user, _ := r.user(ctx) // without a name it says "you"
	return n.refusal(user, "list"), true
}

// may reports whether the server says that the user may do verb as n says; known is
// false where it does not say. Once it has not answered, it is not asked again.
func (r *Checker) may(ctx context.Context, n Permission, verb string) (allowed, known bool) {
	if r.silent {
		return false, false
	}
	attributes := &authorizationv1.ResourceAttributes{
		Verb:      verb,
		Group:     n.resource.Group,
		Version:   n.resource.Version,
		Resource:  n.resource.Resource,
		Namespace: n.namespace,
		Name:      n.name,
	}
	if n.fieldSelector != "" {
		attributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{RawSelector: n.fieldSelector}
	}
	if n.labelSelector != "" {
		attributes.LabelSelector = &authorizationv1.LabelSelectorAttributes{RawSelector: n.labelSelector}
	}
	review := &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
	}
	review, err := r.access.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		r.silent = !errors.Is(err, context.Canceled)
		return false, false
	}
	return review.Status.Allowed, true
}

func (r *Checker) lacks(ctx context.Context, n Permission, verb string) bool {
	allowed, known := r.may(ctx, n, verb)
	return known && !allowed
}

// lacksList is lacks for the verb list. Where there are many targets, one
// question is enough for those who may do everything.
func (r *Checker) lacksList(ctx context.Context, n Permission) bool {
	if r.options.ManyTargets && !r.silent {
		all, asked := r.lists[n.namespace]
		if !asked {
			everything := Permission{namespace: n.namespace}
			everything.resource.Group, everything.resource.Version, everything.resource.Resource = "*", "*", "*"
			all = !r.lacks(ctx, everything, "list")
			r.lists[n.namespace] = all
		}
		if all {
			return false
		}
	}
	return r.lacks(ctx, n, "list")
}

func (r *Checker) user(ctx context.Context) (string, error) {
	review, err := r.self.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	if review.Status.UserInfo.Username == "" {
		return "", errors.New("there is no name in its answer")
	}
	return review.Status.UserInfo.Username, nil
}
