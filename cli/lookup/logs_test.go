package lookup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	testobject "dwatch/testdata/object"
)

// failedPod returns a failed pod that uses a Secret, with the time at which its container started.
func failedPod(t *testing.T, spec, began string) *unstructured.Unstructured {
	t.Helper()
	u, err := testobject.Parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"shop","uid":"a","creationTimestamp":"2026-01-31T09:00:00Z"},"spec":`+spec+`,`+
		`"status":{"phase":"Failed","containerStatuses":[{"name":"web","containerID":"c","state":{"terminated":{"exitCode":1,"containerID":"c","startedAt":"`+began+`","finishedAt":"2026-01-31T12:00:00Z"}}}]}}`).Decode()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func usingSecrets(names string) string {
	return `{"containers":[{"name":"web","envFrom":[` + names + `]}]}`
}

// secretOf returns a Secret that was created at 08:00, with managed fields.
func secretOf(value, more, managers string) string {
	return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db","namespace":"shop","creationTimestamp":"2026-01-31T08:00:00Z","managedFields":[` + managers + `]}` + more + `,"data":{"password":"` + value + `"}}`
}

func wroteAt(at, what string) string {
	return `{"manager":"m","operation":"Update","apiVersion":"v1","time":"` + at + `","fieldsType":"FieldsV1","fieldsV1":{"f:` + what + `":{}}}`
}

// TestSecretGone checks that the values of a deleted Secret are unknown. A missing optional Secret is only reported, because
// it may never have existed.
func TestSecretGone(t *testing.T) {
	s := newShop(t, nil, map[string]string{"log": "it was hunter2\n"}, "secrets/")
	for spec, want := range map[string]UnmaskedError{
		usingSecrets(`{"secretRef":{"name":"db"}}`):                 {Deleted: []string{"db"}},
		usingSecrets(`{"secretRef":{"name":"db","optional":true}}`): {MissingOptional: []string{"db"}},
		`{"imagePullSecrets":[{"name":"db"}]}`:                      {},
	} {
		logs, err := s.Logs(t.Context(), failedPod(t, spec, "2026-01-31T10:00:00Z"), 1, false)
		lack, is := errors.AsType[*UnmaskedError](err)
		if !is {
			lack = &UnmaskedError{}
		}
		if !slices.Equal(lack.Deleted, want.Deleted) || !slices.Equal(lack.MissingOptional, want.MissingOptional) || len(logs) != 1-len(want.Deleted) || lack.IsCertain() != (len(want.Deleted) > 0) {
			t.Errorf("%s: got logs %v, error %v, want %+v", spec, logs, err, want)
		}
	}
}

// TestSecretChanged checks that the values of a Secret are unknown if its managed fields show a write after the container
// started.
func TestSecretChanged(t *testing.T) {
	before, after := "2026-01-31T09:30:00Z", "2026-01-31T10:00:01Z"
	used := usingSecrets(`{"secretRef":{"name":"db"}}`)
	for name, test := range map[string]struct {
		secret, spec string
		want         bool
	}{
		"before":                  {secretOf("aHVudGVyMg==", "", wroteAt(before, "data")), used, false},
		"after":                   {secretOf("aHVudGVyMg==", "", wroteAt(before, "data")+","+wroteAt(after, "data")), used, true},
		"labels after":            {secretOf("aHVudGVyMg==", "", wroteAt(before, "data")+","+wroteAt(after, "metadata")), used, false},
		"in the same second":      {secretOf("aHVudGVyMg==", "", wroteAt("2026-01-31T10:00:00Z", "data")), used, true},
		"no managed fields":       {secretOf("aHVudGVyMg==", "", ""), used, true},
		"immutable":               {secretOf("aHVudGVyMg==", `,"immutable":true`, ""), used, false},
		"only for pulling images": {secretOf("aHVudGVyMg==", "", wroteAt(after, "data")), `{"imagePullSecrets":[{"name":"db"}]}`, false},
		"optional Secret changed": {secretOf("aHVudGVyMg==", "", wroteAt(after, "data")), usingSecrets(`{"secretRef":{"name":"db","optional":true}}`), true},
	} {
		s := newShop(t, nil, map[string]string{"log": "it was hunter2\n", "secrets/db": test.secret})
		logs, err := s.Logs(t.Context(), failedPod(t, test.spec, "2026-01-31T10:00:00Z"), 1, false)
		lack, is := errors.AsType[*UnmaskedError](err)
		switch {
		case is != test.want, is && (!slices.Equal(lack.Changed, []string{"db"}) || len(logs) > 0):
			t.Errorf("%s: got logs %v, error %v, want an UnmaskedError: %t", name, logs, err, test.want)
		case !is && (len(logs) != 1 || !slices.Equal(logs[0].Lines, []string{"it was <db/password>"})):
			t.Errorf("%s: got logs %v, error %v, want a masked line", name, logs, err)
		}
	}
}

// TestTooManySecrets checks that Secrets that were not read because there are too many are reported with this reason.
func TestTooManySecrets(t *testing.T) {
	var sources []string
	for n := range maxSecrets + 1 {
		sources = append(sources, fmt.Sprintf(`{"secretRef":{"name":"s%02d"}}`, n))
	}
	pod := failedPod(t, usingSecrets(strings.Join(sources, ",")), "2026-01-31T10:00:00Z")
	_, err := newShop(t, nil, nil, "secrets/").Logs(t.Context(), pod, 1, false)
	if err == nil || !strings.Contains(err.Error(), "the values of Secret s20, which po/a uses, are not masked in it: dwatch reads at most 20 Secrets of a pod") {
		t.Errorf("got %v, want the reason for s20", err)
	}
}
