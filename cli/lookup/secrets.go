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

// maxSecrets is how many Secrets of a pod are read.
const maxSecrets = 20

// written is when a Secret was created, and what it holds written last, in whole seconds; a zero time: that is not
// known.
type written struct{ created, last time.Time }

// before reports whether it surely was before a second.
func (w written) before(t time.Time) bool {
	return !w.last.IsZero() && (w.last.Before(t) || w.last.Equal(t) && w.last.Equal(w.created)) // which it is before a container is started
}

// whenWritten is what the managed fields say of that. Of a key that another one removed than who set it they say
// nothing.
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

// holdsData reports whether fields are of what a Secret holds. Those who apply stringData hold that.
func holdsData(fields []byte) bool {
	return gjson.GetBytes(fields, "f:data").Exists() || gjson.GetBytes(fields, "f:stringData").Exists()
}

// Learn remembers what the Secrets hold that a pod uses, as far as it may be: once for each time its container
// that does not work was started.
func (c *CauseFinder) CacheSecrets(ctx context.Context, u *unstructured.Unstructured) {
	runs := runsOf(u)
	for i, used := range refer.SecretRefs(u) {
		of := named{u.GetNamespace(), used.Name}
		isNew := c.secrets.has(of) == nil || slices.ContainsFunc(runs, func(r run) bool {
			_, asked := c.secrets.isKnown(of, r)
			return !asked
		})
		if i < maxSecrets && isNew {
			c.read(ctx, of, runs)
		}
	}
}

// read returns what a Secret holds, and has held.
func (c *CauseFinder) read(ctx context.Context, of named, runs []run) (secretValues, error) {
	secret, err := c.content.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(of.namespace).Get(ctx, of.name, metav1.GetOptions{})
	if err != nil {
		return c.secrets.has(of), err
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

// secretsOf returns the values of the Secrets that a pod uses, with their names, and an UnmaskedError about those
// of which it is not known what they held when the runs began; nil if there are none.
func (c *CauseFinder) secretsOf(ctx context.Context, u *unstructured.Unstructured, runs []run) (values secretValues, lack *UnmaskedError) {
	lack = &UnmaskedError{Pod: u.GetName(), Namespace: u.GetNamespace()}
	values = secretValues{}
	for i, used := range refer.SecretRefs(u) {
		name, of := used.Name, named{u.GetNamespace(), used.Name}
		if i >= maxSecrets {
			lack.Unreadable = append(lack.Unreadable, name)
			continue
		}
		held, err := c.read(ctx, of, runs)
		maps.Copy(values, held)
		isKnown := !slices.ContainsFunc(runs, func(r run) bool {
			known, _ := c.secrets.isKnown(of, r)
			return !known
		})
		switch {
		case used.ImagePullOnly && (err == nil || apierrors.IsNotFound(err)): // no container gets it
		case apierrors.IsNotFound(err) && isKnown && held != nil: // it was there, and is known
		case apierrors.IsNotFound(err) && used.Optional:
			lack.MissingOptional = append(lack.MissingOptional, name)
		case apierrors.IsNotFound(err): // it was there when the container was started
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
