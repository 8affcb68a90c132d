package access

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"dwatch/cli/fail"
)

// Subject is who is to get rights: user, or if that is empty the user that the server knows
// this one as.
func (r *Checker) ResolveSubject(ctx context.Context, user string) (rbacv1.Subject, error) {
	if user == "" {
		var err error
		if user, err = r.askUser(ctx); err != nil {
			return rbacv1.Subject{}, err
		}
	}
	return subjectOf(user), nil
}

// ServiceAccount is one of a namespace.
func ServiceAccountSubject(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

func (r *Checker) askUser(ctx context.Context) (string, error) {
	ctx, cancel := r.cluster.WithTimeout(ctx)
	defer cancel()
	name, err := r.user(ctx)
	var failed *url.Error
	switch {
	case errors.As(err, &failed):
		return "", fail.FromServer(r.cluster.Host, err)
	case err != nil:
		// It is not wrong usage: who the user is depends on nothing that was typed.
		return "", fmt.Errorf("the server does not say who you are (%v): say who is to get the rights with --as USER, or --as %sNAMESPACE:NAME", err, serviceAccountPrefix)
	}
	return name, nil
}

const serviceAccountPrefix = "system:serviceaccount:"

// subjectOf is a user by the name that the server knows it by. That of a service account says so.
func subjectOf(user string) rbacv1.Subject {
	account, ok := strings.CutPrefix(user, serviceAccountPrefix)
	namespace, name, _ := strings.Cut(account, ":")
	if ok && len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return ServiceAccountSubject(namespace, name)
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}
}
