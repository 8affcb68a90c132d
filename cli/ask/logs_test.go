package ask

import (
	"errors"
	"testing"

	testobject "dwatch/testdata/object"
)

// TestSecretGone: of a Secret that is there no more the values are not known, but one that pods start
// without may never have been there.
func TestSecretGone(t *testing.T) {
	s := newShop(t, nil, map[string]string{"log": "it was hunter2\n"}, "secrets/")
	for isOptional, wantGone := range map[string]bool{"false": true, "true": false} {
		u, err := testobject.Parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"shop"},"spec":{"containers":[{"name":"web","envFrom":[{"secretRef":{"name":"db","optional":`+isOptional+`}}]}]},`+
			`"status":{"phase":"Failed","containerStatuses":[{"name":"web","containerID":"c","state":{"terminated":{"exitCode":1,"containerID":"c"}}}]}}`).Open()
		if err != nil {
			t.Fatal(err)
		}
		logs, err := s.Logs(t.Context(), u, 1, false)
		lack, is := errors.AsType[*UnmaskedError](err)
		if is != wantGone || is && !lack.Gone || len(logs) != 1 && !wantGone || len(logs) != 0 && wantGone {
			t.Errorf("optional: %s: %v, %v", isOptional, logs, err)
		}
	}
}
