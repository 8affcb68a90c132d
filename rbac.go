package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"dwatch/cli/plan"
)

// printRBAC prints the smallest roles that allow this request, bound to the user
// of --as or to the one that the server takes this one for.
func (j *job) printRBAC(ctx context.Context, p *plan.Plan) error {
	name := j.as
	if name == "" {
		var err error
		if name, err = j.askUser(ctx); err != nil {
			return err
		}
	}
	return printObjects(j.out, rbacObjects(needsOf(p.Targets, j.request), subjectOf(name)), j.rbac.format)
}

func (j *job) askUser(ctx context.Context) (string, error) {
	ctx, cancel := j.ask(ctx)
	defer cancel()
	name, err := j.rights.user(ctx)
	var failed *url.Error
	switch {
	case errors.As(err, &failed):
		return "", serverError{j.host, err}
	case err != nil:
		// Who the user is depends on nothing that was typed, nor does the exit code.
		return "", fmt.Errorf("the server does not say who you are (%v): say who is to get the rights with --as USER, or --as %sNAMESPACE:NAME", err, serviceAccountPrefix)
	}
	return name, nil
}

// asOneself is c for --print-rbac: who prepares the rights of a user need not
// have the right to be that user. as is who that is; empty without --as.
func (c *cluster) asOneself() (self *cluster, as string, err error) {
	oneself := *c
	oneself.config = rest.CopyConfig(c.config)
	oneself.config.Impersonate = rest.ImpersonationConfig{}
	if oneself.http, err = rest.HTTPClientFor(oneself.config); err != nil {
		return nil, "", fmt.Errorf("client: %w", err)
	}
	return &oneself, c.config.Impersonate.UserName, nil
}

const serviceAccountPrefix = "system:serviceaccount:"

// subjectOf is a user by the name that the server knows it by. That of a service
// account says so.
func subjectOf(user string) rbacv1.Subject {
	account, ok := strings.CutPrefix(user, serviceAccountPrefix)
	namespace, name, _ := strings.Cut(account, ":")
	if ok && len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}
}

// printObjects writes YAML documents, or with the format json one List.
func printObjects(w io.Writer, objects []any, format string) error {
	if format == "json" {
		list := map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}
		text, err := json.MarshalIndent(list, "", "    ")
		if err == nil {
			_, err = w.Write(append(text, '\n'))
		}
		return err
	}
	var text []byte
	for i, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("encode as YAML: %w", err)
		}
		if i > 0 {
			text = append(text, "---\n"...)
		}
		text = append(text, document...)
	}
	_, err := w.Write(text)
	return err
}
