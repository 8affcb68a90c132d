package lookup

import (
	"context"
	"encoding/base64"
	"maps"
	"slices"
	"time"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/object/refer"
)

// maxSecrets is the maximum number of Secrets of a pod that are read.
const maxSecrets = 20

// written has the times when a Secret was created and when its data was last written, in whole seconds. Zero means unknown.
type written struct{ created, last time.Time }

// before reports whether the data was certainly last written before a container started. In the same second, that is only
// certain if the Secret was created then, because the container needs it to start.
func (w written) before(t time.Time) bool {
	return !w.last.IsZero() && (w.last.Before(t) || w.last.Equal(t) && w.last.Equal(w.created))
}

// whenWritten derives the times from the managed fields. They do not show that a manager removed a key that another manager
// had set.
func whenWritten(secret *unstructured.Unstructured) written {
	created := secret.GetCreationTimestamp().UTC()
	w := written{created: created}
	if immutable, _, _ := unstructured.NestedBool(secret.Object, "immutable"); immutable {
		w.last = created
		return w
	}
	for _, entry := range secret.GetManagedFields() {
		if entry.Time == nil || entry.FieldsV1 == nil || !holdsData(entry.FieldsV1.GetRawBytes()) {
			continue
		}
		if at := entry.Time.UTC(); at.After(w.last) {
			w.last = at
		}
	}
	return w
}

// holdsData reports whether managed fields include data of a Secret. Server-side apply of stringData is recorded as such.
func holdsData(fields []byte) bool {
	return gjson.GetBytes(fields, "f:data").Exists() || gjson.GetBytes(fields, "f:stringData").Exists()
}

// CacheSecrets caches the values of the Secrets that a pod uses, as far as they can be read. It reads each Secret once per run
// of the failing container, or at each call until it can be read.
func (c *CauseFinder) CacheSecrets(ctx context.Context, u *unstructured.Unstructured) {
	runs := runsOf(u)
	for i, used := range refer.SecretRefs(u) {
		of := secretName{u.GetNamespace(), used.Name}
		isNew := c.secrets.get(of) == nil || slices.ContainsFunc(runs, func(r run) bool {
			_, wasRead := c.secrets.isKnown(of, r)
			return !wasRead
		})
		if i < maxSecrets && isNew {
			c.read(ctx, of, runs)
		}
	}
}

// read returns the current and the cached values of a Secret. After an error, it returns the cached ones.
func (c *CauseFinder) read(ctx context.Context, of secretName, runs []run) (secretValues, error) {
	secret, err := c.content.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(of.namespace).Get(ctx, of.name, metav1.GetOptions{})
	if err != nil {
		return c.secrets.get(of), err
	}
	values := secretValues{}
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	for key, value := range data {
		text, _ := value.(string)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			values.add(string(decoded), "<"+of.name+"/"+key+">")
		}
	}
	return c.secrets.add(of, values, whenWritten(secret), runs), nil
}

// secretsOf returns the values of the Secrets that a pod uses. lack lists the Secrets whose values at the beginning of the
// runs are unknown. It is nil if there are none.
func (c *CauseFinder) secretsOf(ctx context.Context, u *unstructured.Unstructured, runs []run) (values secretValues, lack *UnmaskedError) {
	lack = &UnmaskedError{Pod: u.GetName(), Namespace: u.GetNamespace()}
	values = secretValues{}
	for i, used := range refer.SecretRefs(u) {
		name, of := used.Name, secretName{u.GetNamespace(), used.Name}
		if i >= maxSecrets {
			lack.Excess = append(lack.Excess, name)
			continue
		}
		found, err := c.read(ctx, of, runs)
		maps.Copy(values, found)
		isKnown := !slices.ContainsFunc(runs, func(r run) bool {
			known, _ := c.secrets.isKnown(of, r)
			return !known
		})
		switch {
		case used.ImagePullOnly && (err == nil || apierrors.IsNotFound(err)): // containers can't read it
		case apierrors.IsNotFound(err) && isKnown && found != nil: // its values are cached
		case apierrors.IsNotFound(err) && used.Optional:
			lack.MissingOptional = append(lack.MissingOptional, name)
		case apierrors.IsNotFound(err): // it existed when the container started
			lack.Deleted = append(lack.Deleted, name)
		case err != nil:
			lack.Unreadable = append(lack.Unreadable, name)
		case !isKnown:
			lack.Changed = append(lack.Changed, name)
		}
	}
	if !lack.IsCertain() && len(lack.MissingOptional) == 0 {
		return values, nil
	}
	return values, lack
}
