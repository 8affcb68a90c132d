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

// ResolveSubject returns the subject for user. If user is empty, it queries the server for the name of the current user.
func (r *Checker) ResolveSubject(ctx context.Context, user string) (rbacv1.Subject, error) {
	if user == "" {
		var err error
		if user, err = r.askUser(ctx); err != nil {
			return rbacv1.Subject{}, err
		}
	}
	return subjectOf(user), nil
}

// ServiceAccountSubject returns the subject for a service account.
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
		// This is not a usage error, because the user's name does not depend on the arguments.
		return "", fmt.Errorf("the server does not report your user name (%v): name the user of the role with --as USER, or --as %sNAMESPACE:NAME", err, serviceAccountPrefix)
	}
	return name, nil
}

const serviceAccountPrefix = "system:serviceaccount:"

// subjectOf returns the subject for a user name: a service account if the name has the prefix and form of one.
func subjectOf(user string) rbacv1.Subject {
	account, ok := strings.CutPrefix(user, serviceAccountPrefix)
	namespace, name, _ := strings.Cut(account, ":")
	if ok && len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return ServiceAccountSubject(namespace, name)
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}
}
