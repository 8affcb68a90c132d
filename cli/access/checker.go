// Package access determines which permissions a run needs. It checks them with the server, explains missing ones, and builds
// the roles that grant them.
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

// Options configure a Checker.
type Options struct {
	LabelSelector, FieldSelector string
	Sharded                      bool // only the objects of a shard are requested
	ListOnly                     bool // objects are listed once, not watched
	// Namespaces are namespaces that the user may be allowed to watch if all namespaces are denied. The namespace of the
	// kubeconfig context is always tried.
	Namespaces []string
	// ManyTargets makes the Checker ask first whether the user may list all resources.
	ManyTargets bool
}

// Checker queries the server for the user's permissions. If the server does not answer such queries, the Checker reports no
// missing permissions. Only one goroutine may use it at a time.
type Checker struct {
	cluster *cluster.Cluster
	options Options
	access  authorization.SelfSubjectAccessReviewInterface
	self    authentication.SelfSubjectReviewInterface
	silent  bool            // a query has failed: the server is not queried again
	lists   map[string]bool // whether the user may list everything in a namespace
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

// NewOffline returns a Checker for a run without a cluster. It only names permissions, and never queries a server.
func NewOffline(o Options) *Checker { return &Checker{options: o, silent: true} }

// CannotList reports whether the user may certainly not list target. refusal says so in the server's words. It blocks for at
// most two seconds.
func (r *Checker) CannotList(ctx context.Context, target event.Target) (refusal string, lacks bool) {
	ctx, cancel := context.WithTimeout(ctx, detailTimeout)
	defer cancel()
	n := r.TargetPermission(target)
	if !r.lacksList(ctx, n) {
		return "", false
	}
	user, _ := r.user(ctx) // without a name, the refusal says "you"
	return n.refusal(user, "list"), true
}

// may reports whether the user may do verb with the objects of n. known is false if the server does not answer. After one
// failed query no others are sent.
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

// lacksList is like lacks, for the verb list. With many targets, a single query suffices for users who may list everything.
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
