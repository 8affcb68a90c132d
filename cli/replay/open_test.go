package replay

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/run"
	"dwatch/watcher/recording"
	"dwatch/watcher/recording/remote"
)

// fromAt returns the flags for the recording at an address.
func fromAt(t *testing.T, address string, more ...string) flags.From {
	t.Helper()
	var from flags.From
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	from.AddTo(f)
	if err := f.Parse(append([]string{"--from", address}, more...)); err != nil {
		t.Fatal(err)
	}
	if err := from.Check(f); err != nil {
		t.Fatal(err)
	}
	return from
}

// TestFromTLS: a server with an unknown authority gets no request, and never the token.
func TestFromTLS(t *testing.T) {
	shown := make(chan string, 10)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown <- r.Header.Get("Authorization") + " " + r.URL.String()
		fmt.Fprint(w, `{"version":1,"parts":[{"cluster":"eu","segments":[]}]}`)
	}))
	defer server.Close()
	server.Config.ErrorLog = nil
	ca := filepath.Join(t.TempDir(), "ca")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	address := server.URL + "/below/?token=hunter2#time=1"
	_, err := findStores(t.Context(), fromAt(t, address))
	if err == nil || !strings.HasSuffix(err.Error(), "set --from-ca to a file with the certificate of its authority") || strings.Contains(err.Error(), "hunter2") || fail.ExitCode(err) != fail.ExitFailed {
		t.Error(err)
	}
	if len(shown) > 0 {
		t.Errorf("it was asked: %q", <-shown)
	}
	parts, err := findStores(t.Context(), fromAt(t, address, "--from-ca", ca))
	if err != nil || len(parts) != 1 || parts[0].Cluster != "eu" {
		t.Error(parts, err)
	}
	if got := <-shown; got != "Bearer hunter2 /below/api/recording" {
		t.Errorf("%q", got)
	}
}

// TestFromBroken: a truncated answer is an error that ends a run.
func TestFromBroken(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"version":1,"parts":[`)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	from := fromAt(t, server.URL+"/?token=hunter2")
	_, err := findStores(t.Context(), from)
	err = openError(from, err)
	if want := "--from " + server.URL + ": the connection was lost in the middle of a response: unexpected EOF"; fmt.Sprint(err) != want || fail.ExitCode(err) != fail.ExitFailed {
		t.Error(err)
	}
}

// TestFromRestarted: a server that was restarted during a run is no usage error.
func TestFromRestarted(t *testing.T) {
	restarted := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if restarted {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, `{"version":1,"parts":[{"segments":[]}]}`)
	}))
	defer server.Close()
	parts, err := findStores(t.Context(), fromAt(t, server.URL+"/?token=hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	restarted = true
	if _, err = parts[0].Store.List(t.Context()); fail.ExitCode(openError(flags.From{}, err)) != fail.ExitFailed || !strings.Contains(err.Error(), "--from takes the address that this run") {
		t.Error(err)
	}
	if !fail.Is[*remote.RefusedError](err) {
		t.Errorf("what was answered is lost: %#v", err)
	}
}

// TestUnrecordedPart: a cluster without data does not keep the others from answering. Its content is unknown, as is withheld content.
func TestUnrecordedPart(t *testing.T) {
	withheld := recordingStore{{Name: "00000001-20260131T020000Z.zst", Size: 1, WithheldReason: "it is so"}}
	for name, store := range map[string]recordingStore{"withheld": withheld, "begun": nil} {
		one := &part{console: &console.Console{Err: io.Discard, Reports: io.Discard}, cluster: "eu", from: "rec/eu", store: store}
		if err := one.read(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := &Recording{parts: []*part{one}}
		_, err := r.Session(t.Context(), &console.Console{Err: io.Discard, Reports: io.Discard}, run.Selection{})
		if fail.ExitCode(err) != fail.ExitIncomplete || !strings.Contains(fmt.Sprint(err), "the recording rec/eu does not cover any time") {
			t.Errorf("%s: %v", name, err)
		}
		one.cluster = ""
		if err := one.read(t.Context()); store == nil && !errors.Is(err, recording.ErrNoRecording) || store != nil && err != nil {
			t.Errorf("%s, of the only one: %v", name, err)
		}
		if _, err := r.Session(t.Context(), &console.Console{Err: io.Discard, Reports: io.Discard}, run.Selection{}); store != nil && fail.ExitCode(err) != fail.ExitIncomplete {
			t.Errorf("%s, of the only one: %v", name, err)
		}
	}
}

// recordingStore is a Store whose segments cannot be read.
type recordingStore []recording.StoredFile

func (s recordingStore) List(context.Context) ([]recording.StoredFile, error) { return s, nil }

func (s recordingStore) Read(context.Context, string, int64, int64) ([]byte, error) {
	return nil, errors.New("nothing is read")
}
