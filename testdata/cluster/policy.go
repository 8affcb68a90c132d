package main

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// policyHook is how the API server makes the roles and bindings that it always has: a second
// after its start, by some hundred requests to itself, one after the other.
const policyHook = "rbac/bootstrap-roles"

// writePolicy does the same at once and before the server starts. It makes the role of the
// limited user, too. Objects that are there stay as they are.
func writePolicy(ctx context.Context, etcd *etcdServer) error {
	now := metav1.Now()
	stored := map[string][]byte{}
	for _, object := range policy() {
		object.SetUID(uuid.NewUUID())
		object.SetCreationTimestamp(now)
		key, value, err := asStored(object)
		if err != nil {
			return fmt.Errorf("cannot make the role or binding %s: %w", object.GetName(), err)
		}
		stored[key] = value
	}
	if err := etcd.create(ctx, stored); err != nil {
		return fmt.Errorf("cannot write the roles: %w", err)
	}
	return nil
}

// storedObject is an object that is written without the API server.
type storedObject interface {
	runtime.Object
	metav1.Object
}

// policy returns the roles and bindings of policyHook and of the limited user.
func policy() []storedObject {
	all := []storedObject{limitedRole(), limitedBinding()}
	for _, role := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		all = append(all, &role)
	}
	for _, binding := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		all = append(all, &binding)
	}
	for _, roles := range bootstrappolicy.NamespaceRoles() {
		for _, role := range roles {
			all = append(all, &role)
		}
	}
	for _, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, binding := range bindings {
			all = append(all, &binding)
		}
	}
	return all
}

var policyEncoder = protobuf.NewSerializer(legacyscheme.Scheme, legacyscheme.Scheme)

// asStored returns the etcd key and the encoding of a role, a binding or a pod, as the API server stores it.
func asStored(object storedObject) (key string, value []byte, err error) {
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(object)
	if err != nil {
		return "", nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	var encoded bytes.Buffer
	if err := policyEncoder.Encode(object, &encoded); err != nil {
		return "", nil, err
	}
	resource := strings.ToLower(kinds[0].Kind) + "s"
	return path.Join("/registry", resource, object.GetNamespace(), object.GetName()), encoded.Bytes(), nil
}
