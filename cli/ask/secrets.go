package ask

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/object/refer"
)

const (
	// maxSecrets is how many Secrets of a pod are read.
	maxSecrets = 20
	// minSecret is how many bytes a value has at least to be masked: shorter ones are parts of other words.
	minSecret = 4
)

// secretsOf returns what replaces the values of the Secrets that a pod uses by their names, and an
// UnmaskedError about those of which the values are not known; nil if there are none.
func (c *Causes) secretsOf(ctx context.Context, u *unstructured.Unstructured) (hide *strings.Replacer, lack *UnmaskedError) {
	var unread, gone []string
	found := map[string]string{} // what is to stand in the place of a text
	for i, used := range refer.Secrets(u) {
		name := used.Name
		if i >= maxSecrets {
			unread = append(unread, name)
			continue
		}
		secret, err := c.content.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(u.GetNamespace()).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) && used.Optional: // it was not there, most likely
		case apierrors.IsNotFound(err): // it was there when the container was started
			gone = append(gone, name)
		case err != nil:
			unread = append(unread, name)
		default:
			data, _, _ := unstructured.NestedMap(secret.Object, "data")
			for key, value := range data {
				text, _ := value.(string)
				if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
					addForms(found, string(decoded), "<"+name+"/"+key+">")
				}
			}
		}
	}
	texts := make([]string, 0, len(found))
	for text := range found {
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // what is part of another comes later
	var pairs []string
	for _, text := range texts {
		pairs = append(pairs, text, found[text])
	}
	if len(unread)+len(gone) > 0 {
		lack = &UnmaskedError{u.GetName(), u.GetNamespace(), append(unread, gone...), len(unread) == 0}
	}
	return strings.NewReplacer(pairs...), lack
}

// addForms adds the forms in which a value may stand in a log: as it is, in lines, in base64, escaped as
// in JSON or in a URL.
func addForms(to map[string]string, value, name string) {
	trimmed := strings.TrimSpace(value)
	forms := []string{trimmed, url.QueryEscape(trimmed), url.PathEscape(trimmed)}
	for _, text := range []string{value, trimmed} {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			encoded := encoding.EncodeToString([]byte(text))
			forms = append(forms, encoded, strings.TrimRight(encoded, "="))
		}
	}
	if quoted, err := json.Marshal(trimmed); err == nil {
		forms = append(forms, strings.Trim(string(quoted), `"`))
	}
	for line := range strings.Lines(trimmed) {
		forms = append(forms, strings.TrimSpace(line))
	}
	for _, form := range forms {
		if len(form) >= minSecret {
			to[form] = name
		}
	}
}
