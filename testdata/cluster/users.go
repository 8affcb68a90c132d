package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/keyutil"
)

// The users of a cluster. The contexts of the kubeconfig have the same names.
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
	if _, err := data.loadOrCreate("service-account.key", newPrivateKey); err != nil {
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

// newPrivateKey returns a private key, of a kind that is made in no time.
func newPrivateKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return keyutil.MarshalPrivateKeyToPEM(key)
}

// limitedRole lets its user read pods and deployments in the default namespace, and nothing
// else anywhere.
func limitedRole() *rbacv1.Role {
	verbs := []string{"get", "list", "watch"}
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: userLimited, Namespace: metav1.NamespaceDefault},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: verbs},
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs},
		},
	}
}

func limitedBinding() *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: userLimited, Namespace: metav1.NamespaceDefault},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: userLimited},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: userLimited}},
	}
}
