package refer

import (
	"maps"
	"slices"
	"testing"

	testobject "dwatch/testdata/object"
)

// TestOf: wherever a spec names an object.
func TestOf(t *testing.T) {
	const pod = `{"nodeName":"n1","serviceAccountName":"web","imagePullSecrets":[{"name":"pull"},"?",{},{"name":"../nodes"}],
		"volumes":[{"secret":{"secretName":"tls"}},{"configMap":{"name":"conf"}},{"persistentVolumeClaim":{"claimName":"data"}},
			{"projected":{"sources":[{"secret":{"name":"key"}},{"configMap":{"name":"more"}}]}}],
		"initContainers":[{"envFrom":[{"secretRef":{"name":"init"}}]}],
		"containers":[{"env":[{"valueFrom":{"secretKeyRef":{"name":"db","key":"password"}}},{"valueFrom":{"configMapKeyRef":{"name":"conf","key":"a"}}}],"envFrom":[{"configMapRef":{"name":"env"}}]}]}`
	want := []string{
		"Secret db", "ConfigMap conf", "ConfigMap env", "Secret pull", "Secret init", "Node n1", "ServiceAccount web",
		"Secret tls", "PersistentVolumeClaim data", "ConfigMap more", "Secret key",
	}
	slices.Sort(want)
	for name, text := range map[string]string{
		"a pod":     `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n"},"spec":` + pod + `}`,
		"a cronjob": `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"a","namespace":"n"},"spec":{"jobTemplate":{"spec":{"template":{"spec":` + pod + `}}}}}`,
	} {
		o := testobject.Parse(t, text)
		u, err := o.Decode()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range References(u) {
			if inNone := r.Namespace == ""; inNone != (r.Kind == "Node") {
				t.Errorf("%s: %v is in namespace %q", name, r, r.Namespace)
			}
			got = append(got, r.Kind+" "+r.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestSecrets: pods start without those that are optional wherever they are named, and without those for images.
func TestSecrets(t *testing.T) {
	u, err := testobject.Parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"n"},"spec":{"imagePullSecrets":[{"name":"pull"}],
		"volumes":[{"secret":{"secretName":"volume","optional":true}},{"secret":{"secretName":"both"}},{"projected":{"sources":[{"secret":{"name":"source","optional":true}}]}}],
		"containers":[{"envFrom":[{"secretRef":{"name":"all","optional":true}},{"secretRef":{"name":"both","optional":true}}],
			"env":[{"valueFrom":{"secretKeyRef":{"name":"one","key":"a","optional":true}}},{"valueFrom":{"secretKeyRef":{"name":"needed","key":"a"}}}]}]}}`).Decode()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, s := range SecretRefs(u) {
		got[s.Name] = s.Optional
	}
	if want := (map[string]bool{"pull": true, "volume": true, "both": false, "source": true, "all": true, "one": true, "needed": false}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
