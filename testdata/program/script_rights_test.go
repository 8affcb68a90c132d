package program

import (
	"context"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// awaitBinding waits until all rules of a binding are in force. The API server learns of bindings through its own watch.
func (o *objects) awaitBinding(ctx context.Context, u *unstructured.Unstructured) error {
	var binding rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &binding); err != nil {
		return err
	}
	role, err := o.resource(ctx, binding.RoleRef.Kind+".v1."+rbacv1.GroupName, u.GetNamespace())
	if err != nil {
		return err
	}
	granted, err := role.Get(ctx, binding.RoleRef.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var rules rbacv1.Role
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(granted.Object, &rules); err != nil {
		return err
	}
	namespace := u.GetNamespace()
	if u.GetKind() == "RoleBinding" && namespace == "" {
		namespace = o.namespace
	}
	for _, rule := range rules.Rules {
		if err := o.awaitRule(ctx, userOf(binding.Subjects[0]), namespace, rule); err != nil {
			return err
		}
	}
	return nil
}

func userOf(s rbacv1.Subject) string {
	if s.Kind == rbacv1.ServiceAccountKind {
		return "system:serviceaccount:" + s.Namespace + ":" + s.Name
	}
	return s.Name
}

// awaitRule waits until the first verb and resource of a rule are allowed. All others become allowed at the same time.
func (o *objects) awaitRule(ctx context.Context, user, namespace string, rule rbacv1.PolicyRule) error {
	client, err := kubernetes.NewForConfig(o.config)
	if err != nil {
		return err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace,
			Verb:      rule.Verbs[0],
			Group:     rule.APIGroups[0],
			Resource:  rule.Resources[0],
			Name:      slices.Concat(rule.ResourceNames, []string{""})[0],
		},
	}}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil || answer.Status.Allowed {
			return err
		}
	}
	return fmt.Errorf("user %s does not get the right to %v", user, review.Spec.ResourceAttributes)
}
