package ask

import (
	"context"
	"encoding/base64"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/object/refer"
)

// maxSecrets is how many Secrets of a pod are read.
const maxSecrets = 20

// secretsOf returns the values of the Secrets that a pod uses, with their names, and an
// UnmaskedError about those of which the values are not known; nil if there are none.
func (c *Causes) secretsOf(ctx context.Context, u *unstructured.Unstructured) (values secretValues, lack *UnmaskedError) {
	var unread, gone []string
	values = secretValues{}
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
					values.add(string(decoded), "<"+name+"/"+key+">")
				}
			}
		}
	}
	if len(unread)+len(gone) > 0 {
		lack = &UnmaskedError{u.GetName(), u.GetNamespace(), append(unread, gone...), len(unread) == 0}
	}
	return values, lack
}
