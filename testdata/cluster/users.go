package main

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacapply "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/keyutil"
)

// The users of a cluster. Their names are also those of the contexts.
const (
	userAdmin       = "admin"
	userLimited     = "limited"
	userControllers = "system:kube-controller-manager"
)

// users holds what the API server tells its users apart by.
type users struct {
	tokenFile      string
	signingKeyFile string
	tokens         map[string]string // by user
}

// loadUsers returns the users kept in data, made up when it is new.
func loadUsers(data *dataDir) (*users, error) {
	content, err := data.loadOrCreate("tokens.csv", newTokens)
	if err != nil {
		return nil, fmt.Errorf("cannot load the users: %w", err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(content))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("cannot load the users: %w", err)
	}
	if _, err := data.loadOrCreate("service-account.key", newSigningKey); err != nil {
		return nil, fmt.Errorf("cannot load the service account key: %w", err)
	}
	loaded := &users{
		tokenFile:      data.path("tokens.csv"),
		signingKeyFile: data.path("service-account.key"),
		tokens:         map[string]string{},
	}
	for _, row := range rows {
		loaded.tokens[row[1]] = row[0]
	}
	return loaded, nil
}

// newTokens returns a token file with a fresh secret for every user.
func newTokens() ([]byte, error) {
	var file strings.Builder
	for user, groups := range map[string]string{
		userAdmin:       "system:masters",
		userControllers: "system:masters",
		userLimited:     "",
	} {
		fmt.Fprintf(&file, "%s,%s,%s,%q\n", rand.Text(), user, user, groups)
	}
	return []byte(file.String()), nil
}

// newSigningKey returns a private key for service account tokens.
func newSigningKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return keyutil.MarshalPrivateKeyToPEM(key)
}

// grantLimited lets the limited user read pods and deployments in the default
// namespace, and nothing else anywhere. It returns when that is so: the server
// learns of new roles from a watch.
func grantLimited(ctx context.Context, endpoint *endpoint) error {
	client, err := kubernetes.NewForConfig(endpoint.restConfig(userAdmin, "cluster"))
	if err != nil {
		return err
	}
	verbs := []string{"get", "list", "watch"}
	role := rbacapply.Role(userLimited, metav1.NamespaceDefault).WithRules(
		rbacapply.PolicyRule().WithAPIGroups("").WithResources("pods").WithVerbs(verbs...),
		rbacapply.PolicyRule().WithAPIGroups("apps").WithResources("deployments").WithVerbs(verbs...),
	)
	binding := rbacapply.RoleBinding(userLimited, metav1.NamespaceDefault).
		WithRoleRef(rbacapply.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("Role").WithName(userLimited)).
		WithSubjects(rbacapply.Subject().WithAPIGroup(rbacv1.GroupName).WithKind(rbacv1.UserKind).WithName(userLimited))
	how := metav1.ApplyOptions{FieldManager: "cluster", Force: true}
	if _, err := client.RbacV1().Roles(metav1.NamespaceDefault).Apply(ctx, role, how); err != nil {
		return fmt.Errorf("cannot make the role of user %s: %w", userLimited, err)
	}
	if _, err := client.RbacV1().RoleBindings(metav1.NamespaceDefault).Apply(ctx, binding, how); err != nil {
		return fmt.Errorf("cannot bind the role of user %s: %w", userLimited, err)
	}
	return awaitGrant(ctx, client)
}

// awaitGrant waits until the limited user may do what it is to.
func awaitGrant(ctx context.Context, client kubernetes.Interface) error {
	question := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               userLimited,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: metav1.NamespaceDefault, Verb: "list", Resource: "pods"},
	}}
	for {
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, question, metav1.CreateOptions{})
		if err == nil && answer.Status.Allowed {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the role of user %s is not in force in time: %w", userLimited, cmp.Or(err, ctx.Err()))
		case <-time.After(10 * time.Millisecond):
		}
	}
}
