//go:build unix

package program

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dwatch/cli/fail"
)

// TestStateOfCluster checks that a state file belongs to a cluster, whatever the address of its server.
func TestStateOfCluster(t *testing.T) {
	t.Parallel()
	o, _ := room(t)
	kubeSystem := func(answer func(http.ResponseWriter)) front {
		return front{instead: func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/namespaces/kube-system") {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			answer(w)
			return true
		}}
	}
	plain := front{}
	secret := kubeSystem(func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	})
	other := kubeSystem(func(w http.ResponseWriter) {
		io.WriteString(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"another"}}`)
	})
	failing := kubeSystem(func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","message":"no","code":500}`)
	})
	state := filepath.Join(t.TempDir(), "state")
	start := func(server front) *piped {
		return startPiped(t, "", "cm", "-n", o.namespace, "--state", state, "--server", server.serve(t))
	}
	watches := func(server front, said string) {
		t.Helper()
		p := start(server)
		p.says(t, "^no configmaps")
		p.signal(os.Interrupt)
		p.ends(t, fail.ExitOK, "watching configmaps in namespace "+o.namespace+said+"\nno configmaps in namespace .* yet\n")
	}
	refused := func(server front, code int, pattern string) {
		t.Helper()
		start(server).endsWithin(t, soon, code, "error: "+pattern+"\n")
	}
	file := regexp.QuoteMeta("state file " + state + ": ")
	watches(plain, "")
	watches(plain, ", carrying on from "+regexp.QuoteMeta(state)) // each server.serve has another port
	refused(secret, fail.ExitUsage, file+`it was made for the server 127\.0\.0\.1:\d+, not for 127\.0\.0\.1:\d+ \(.* kube-system\): use another file, or delete it to start over`)
	refused(other, fail.ExitUsage, file+`it was made for another cluster \(at 127\.0\.0\.1:\d+\) than the one at 127\.0\.0\.1:\d+: use another file, or delete it to start over`)
	refused(failing, fail.ExitFailed, `.*`)
	watches(plain, ", carrying on from .*")
}
