package jetstream

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dwatch/output/deliver"
	"dwatch/testdata/testenv"
)

func isDown(err error) bool {
	_, down := errors.AsType[*deliver.DownError](err)
	return down
}

func isRefused(err error) bool {
	_, refused := errors.AsType[*deliver.RefusedError](err)
	return refused
}

func isSetup(err error) bool {
	_, setup := errors.AsType[*deliver.SetupError](err)
	return setup
}

// TestStored checks that messages for which Send has returned nil are in the stream, once.
func TestStored(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	js := client(t, s)
	stream := newStream(t, js, jetstream.StreamConfig{})
	r, noted := newReceiver(t, s.Address, Options{})
	for _, m := range []*deliver.Message{pod("a", 1), pod("a", 2), pod("b.c", 1), pod("a", 2)} {
		if err := r.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, m := range stored(t, stream) {
		got = append(got, m.Subject+" "+m.Header.Get("Nats-Msg-Id")+" "+string(m.Data))
	}
	want := "d.core.pods.ns.a uid-a/1/MODIFIED {\"n\":1}\nd.core.pods.ns.a uid-a/2/MODIFIED {\"n\":2}\nd.core.pods.ns.b%2Ec uid-b.c/1/MODIFIED {\"n\":1}\n"
	if strings.Join(got, "") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if noted.String() != "[]" {
		t.Errorf("got notes %s, want none", noted)
	}
}

// TestHeaders checks that the headers have the attributes of the CloudEvent, and that names can't add headers.
func TestHeaders(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	stream := newStream(t, client(t, s), jetstream.StreamConfig{})
	r, _ := newReceiver(t, s.Address, Options{})
	m := pod("a b\r\nNats-Rollup: all", 1)
	if err := r.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	const name = "a%20b%0D%0ANats-Rollup:%20all"
	want := nats.Header{
		"Nats-Msg-Id": {"uid-" + name + "/1/MODIFIED"}, "ce-specversion": {"1.0"}, "ce-id": {"uid-" + name + "/1/MODIFIED"}, "ce-source": {"urn:uuid:1"},
		"ce-type": {"io.dwatch.resource.modified"}, "ce-subject": {"/api/v1/namespaces/ns/pods/" + name}, "ce-time": {"2026-11-21T10:00:00Z"},
		"ce-datacontenttype": {"application/json"}, "ce-apiversion": {"v1"}, "ce-kind": {"Pod"}, "ce-namespace": {"ns"}, "ce-name": {name},
		"ce-resourceversion": {"1"}, "ce-partitionkey": {"/api/v1/namespaces/ns/pods/" + name},
	}
	if diff := cmp.Diff(want, stored(t, stream)[0].Header); diff != "" {
		t.Error(diff)
	}
}

// TestNoStream checks that a missing stream is reported with a command that creates it, and that a stream that is created later is
// used.
func TestNoStream(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	r, _ := newReceiver(t, s.Address, Options{Prefix: "d.prod"})
	err := r.Check(t.Context())
	if want := `no stream at nats://` + s.Address + ` takes d.prod.>: --create-stream D_PROD creates one, or 'nats stream add D_PROD --subjects "d.prod.>" --dupe-window 10m --defaults'`; !isSetup(err) || err.Error() != want {
		t.Errorf("check: got %v, want %s", err, want)
	}
	if err := r.Send(t.Context(), pod("a", 1)); !isDown(err) || !strings.Contains(err.Error(), "nats stream add") {
		t.Errorf("send: got %v, want a DownError with the command", err)
	}
	stream := newStream(t, client(t, s), jetstream.StreamConfig{Subjects: []string{"d.prod.>"}})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil || len(stored(t, stream)) != 1 {
		t.Errorf("after the stream was created: %d messages stored, %v, want 1", len(stored(t, stream)), err)
	}
}

// TestStreamDeleted checks that Send returns a DownError if the stream was deleted during delivery. With CreateStream, the next Send
// creates it again.
func TestStreamDeleted(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	js := client(t, s)
	newStream(t, js, jetstream.StreamConfig{})
	plain, _ := newReceiver(t, s.Address, Options{})
	creator, noted := newReceiver(t, s.Address, Options{CreateStream: "NEW"})
	for _, r := range []*Receiver{plain, creator} {
		if err := r.Send(t.Context(), pod("a", 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := js.DeleteStream(t.Context(), "S"); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Receiver{plain, creator} {
		if err := r.Send(t.Context(), pod("a", 2)); !isDown(err) || err.Error() != "no stream takes d.core.pods.ns.a" {
			t.Errorf("CreateStream %q: got %v, want a DownError", r.CreateStream, err)
		}
	}
	if err := plain.Send(t.Context(), pod("a", 2)); !isDown(err) || !strings.HasPrefix(err.Error(), "no stream at nats://") {
		t.Errorf("second send without CreateStream: got %v", err)
	}
	if err := creator.Send(t.Context(), pod("a", 2)); err != nil || !strings.Contains(noted.String(), "created the stream NEW") {
		t.Errorf("second send with CreateStream: got %v, notes %s", err, noted)
	}
	if err := plain.Send(t.Context(), pod("a", 3)); err != nil {
		t.Error(err)
	}
}

// TestCreateStream checks that CreateStream creates a stream once, and fails if a stream of that name has other subjects.
func TestCreateStream(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	js := client(t, s)
	for range 2 { // the second Receiver finds the stream
		r, _ := newReceiver(t, s.Address, Options{CreateStream: "D"})
		if err := r.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := js.Stream(t.Context(), "D")
	if err != nil {
		t.Fatal(err)
	}
	if c := stream.CachedInfo().Config; c.Duplicates != DuplicateWindow || strings.Join(c.Subjects, " ") != "d.>" || c.Storage != jetstream.FileStorage {
		t.Errorf("got configuration %+v", c)
	}
	taken, _ := newReceiver(t, s.Address, Options{Prefix: "e", CreateStream: "D"})
	if err := taken.Check(t.Context()); !isSetup(err) || !strings.Contains(err.Error(), "the stream D at nats://") || !strings.Contains(err.Error(), "nats stream edit D") {
		t.Errorf("stream with other subjects: got %v, want a SetupError", err)
	}
}

// TestSomeSubjects checks that a stream that stores only some subjects is reported, and that only messages with other subjects fail.
func TestSomeSubjects(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	js := client(t, s)
	newStream(t, js, jetstream.StreamConfig{Subjects: []string{"d.core.>", "x"}})
	r, noted := newReceiver(t, s.Address, Options{})
	deployment := message("apps", "deployments", "ns", "web")
	deployment.ID = "id"
	for range 2 {
		if err := r.Send(t.Context(), pod("a", 1)); err != nil {
			t.Error(err)
		}
		if err := r.Send(t.Context(), deployment); err == nil || isDown(err) || isRefused(err) {
			t.Errorf("subject without a stream: got %v, want an error for this message", err)
		}
	}
	if want := "[some subjects in d.> may have no stream: S takes d.core.>, x; events without a stream wait]"; noted.String() != want {
		t.Errorf("got notes %s, want %s", noted, want)
	}
	newStream(t, js, jetstream.StreamConfig{Subjects: []string{"d.*.*.*.*"}})
	if err := r.Send(t.Context(), deployment); err != nil {
		t.Error(err)
	}
}

// TestMixedClusters sends messages with and without a cluster in their subjects. If streams store only one kind, that is reported,
// and messages without a stream do not delay the others.
func TestMixedClusters(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	js := client(t, s)
	for _, taken := range []string{"d.*.*.*.*.*", "d.*.*.*.*"} {
		newStream(t, js, jetstream.StreamConfig{Subjects: []string{taken}})
		r, noted := newReceiver(t, s.Address, Options{MultiCluster: true, AlsoWithoutCluster: true, CreateStream: "S"})
		for range 2 {
			for n, cluster := range []string{"eu", ""} {
				m := pod("a", n)
				m.Cluster = cluster
				err := r.Send(t.Context(), m)
				if takes := covers(taken, Subject("d", m)); (err == nil) != takes || isDown(err) {
					t.Errorf("stream with %s, message with %s: got %v", taken, Subject("d", m), err)
				}
			}
		}
		if want := "[some subjects in d.> may have no stream: S takes " + taken + "; events without a stream wait]"; noted.String() != want {
			t.Errorf("got notes %s, want %s", noted, want)
		}
	}
	newStream(t, js, jetstream.StreamConfig{Subjects: []string{"d.*.*.*.*", "d.*.*.*.*.*"}})
	r, noted := newReceiver(t, s.Address, Options{MultiCluster: true, AlsoWithoutCluster: true})
	if err := r.Check(t.Context()); err != nil || noted.String() != "[]" {
		t.Errorf("streams for both: got %v, notes %s, want none", err, noted)
	}
}

// TestNoJetStream checks the error for a server without JetStream.
func TestNoJetStream(t *testing.T) {
	t.Parallel()
	s, err := testenv.StartNATS("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	r, _ := newReceiver(t, s.Address, Options{CreateStream: "D"})
	if err := r.Check(t.Context()); !isSetup(err) || !strings.Contains(err.Error(), "has no JetStream") {
		t.Errorf("got %v, want a SetupError", err)
	}
}

// TestFull checks that Send returns a DownError while a stream is full, and another error if only the limit of messages per subject is
// reached.
func TestFull(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	js := client(t, s)
	stream := newStream(t, js, jetstream.StreamConfig{MaxMsgs: 2, Discard: jetstream.DiscardNew, MaxMsgsPerSubject: 1, DiscardNewPerSubject: true})
	r, _ := newReceiver(t, s.Address, Options{})
	send := func(m *deliver.Message) error { return r.Send(t.Context(), m) }
	if err := send(pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	if err := send(pod("a", 2)); err == nil || isDown(err) || isRefused(err) || !strings.Contains(err.Error(), "per subject") {
		t.Errorf("limit per subject: got %v", err)
	}
	if err := send(pod("b", 1)); err != nil {
		t.Fatal(err)
	}
	if err := send(pod("c", 1)); !isDown(err) || err.Error() != "the stream does not take it: maximum messages exceeded" {
		t.Errorf("full stream: got %v", err)
	}
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := send(pod("c", 1)); err != nil {
		t.Error(err)
	}
}

// TestTooLarge checks that Send returns a RefusedError for messages that exceed a limit of the server or the stream.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := configured(t, "max_payload: 4096")
	newStream(t, client(t, s), jetstream.StreamConfig{MaxMsgSize: 2048})
	r, _ := newReceiver(t, s.Address, Options{})
	large := pod("a", 1)
	large.Body = make([]byte, 4096)
	if err := r.Send(t.Context(), large); !isRefused(err) || err.Error() != "it is larger than the server's max_payload of 4096 bytes" {
		t.Errorf("limit of the server: got %v", err)
	}
	large.Body = make([]byte, 3000)
	if err := r.Send(t.Context(), large); !isRefused(err) || !strings.HasPrefix(err.Error(), "the stream refuses it: message size exceeds") {
		t.Errorf("limit of the stream: got %v", err)
	}
	if err := r.Send(t.Context(), pod("a", 2)); err != nil {
		t.Error(err)
	}
}

// TestServerAway checks that a server that does not run counts as down at once, and is used when it runs.
func TestServerAway(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	newStream(t, client(t, s), jetstream.StreamConfig{})
	s.Kill()
	r, _ := newReceiver(t, s.Address, Options{})
	if err := r.Check(t.Context()); !isDown(err) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("check: got %v, want a DownError", err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Error(err)
	}
	c := r.conn.Load()
	s.Kill()
	<-c.alive.Done()
	begun := time.Now()
	if err := r.Send(t.Context(), pod("a", 2)); !isDown(err) || time.Since(begun) > openTimeout {
		t.Errorf("after a kill: got %v after %s, want a DownError within %s", err, time.Since(begun), openTimeout)
	}
}
