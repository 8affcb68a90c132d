package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"dwatch/cli/fail"
)

// Print prints the smallest roles that grant needs, bound to user, or if that is empty
// to the user that the server knows this one as. format is yaml or json.
func (r *Rights) Print(ctx context.Context, w io.Writer, needs []Need, user, format string) error {
	if user == "" {
		var err error
		if user, err = r.askUser(ctx); err != nil {
			return err
		}
	}
	return printObjects(w, rbacObjects(needs, subjectOf(user)), format)
}

func (r *Rights) askUser(ctx context.Context) (string, error) {
	ctx, cancel := r.cluster.Ask(ctx)
	defer cancel()
	name, err := r.user(ctx)
	var failed *url.Error
	switch {
	case errors.As(err, &failed):
		return "", fail.Server(r.cluster.Host, err)
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
	var documents [][]byte
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("encode as YAML: %w", err)
		}
		documents = append(documents, document)
	}
	_, err := w.Write(bytes.Join(documents, []byte("---\n")))
	return err
}
