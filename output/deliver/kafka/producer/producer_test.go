package producer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"golang.org/x/sync/semaphore"

	"dwatch/output/deliver"
	"dwatch/output/deliver/kafka"
	"dwatch/output/deliver/secret"
	"dwatch/testdata/testenv"
	"dwatch/watcher/event"
)

// TestStored checks that a record has the object as its key, the event as its value, and the unescaped attributes of the CloudEvent
// as headers, and that a deletion is followed by a tombstone with the same key.
func TestStored(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{})
	gone := pod("ä b", 2)
	gone.Type, gone.ID = event.Deleted, "uid-ä b/2/DELETED"
	for _, m := range []*deliver.Message{pod("ä b", 1), gone} {
		if err := r.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	records := stored(t, k)
	if got, want := fmt.Sprint(values(records)), "[ä b1 ä b2 -]"; got != want {
		t.Fatalf("got records %s, want %s", got, want)
	}
	for _, one := range records {
		if string(one.Key) != "uid-ä b" || one.Partition != records[0].Partition {
			t.Errorf("got key %q in partition %d, want uid-ä b in partition %d", one.Key, one.Partition, records[0].Partition)
		}
	}
	headers := map[string]string{}
	for _, h := range records[1].Headers {
		headers[h.Key] = string(h.Value)
	}
	for name, want := range map[string]string{
		"content-type": "text/plain; charset=utf-8", "ce_specversion": "1.0", "ce_id": "uid-ä b/2/DELETED", "ce_source": "urn:uuid:1",
		"ce_type": "io.dwatch.resource.deleted", "ce_subject": "/api/v1/namespaces/ns/pods/ä b", "ce_time": "2026-11-21T10:00:00Z",
		"ce_kind": "Pod", "ce_uid": "uid-ä b", "ce_partitionkey": "uid-ä b",
	} {
		if headers[name] != want {
			t.Errorf("%s: got %q, want %q", name, headers[name], want)
		}
	}
	if len(records[2].Headers) != 0 {
		t.Errorf("tombstone: got headers %v, want none", records[2].Headers)
	}
	if len(r.flights.bySlot) != 0 {
		t.Errorf("got %d flights at the end, want none", len(r.flights.bySlot))
	}
	several := pod("a", 1)
	several.Cluster = "eu"
	if got := string(r.record(several).Key); got != "eu/uid-a" {
		t.Errorf("with a cluster: got key %s, want eu/uid-a", got)
	}
}

// TestLostResponse checks that a record whose response was lost is not stored again, neither by the next attempt nor after a lost
// connection.
func TestLostResponse(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	command(t, k, "deaf")
	for range 3 {
		if err := r.Send(within(t, 200*time.Millisecond), pod("a", 2)); err == nil || isRefused(err) || err.Error() != "not stored within 200ms" {
			t.Errorf("without a response: got %v", err)
		}
	}
	command(t, k, "drop")
	command(t, k, "open")
	eventually(t, "the record is confirmed", func() bool { return r.Send(within(t, time.Second), pod("a", 2)) == nil })
	if err := r.Send(t.Context(), pod("a", 3)); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(values(stored(t, k))); got != "[a1 a2 a3]" {
		t.Errorf("got records %s, want [a1 a2 a3]", got)
	}
}

// TestAbort checks that Abort ends records in flight that a cancelled attempt has left, and that the next Send works.
func TestAbort(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	command(t, k, "deaf")
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error)
	go func() { sent <- r.Send(ctx, pod("a", 2)) }()
	client := r.session.Load().client
	eventually(t, "the record is in flight", func() bool { return r.flights.isBusy() && client.BufferedProduceRecords() == 1 })
	cancel()
	if err := <-sent; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled attempt: got %v, want %v", err, context.Canceled)
	}
	r.Abort()
	eventually(t, "no record is in flight", func() bool { return !r.flights.isBusy() && client.BufferedProduceRecords() == 0 })
	command(t, k, "open")
	if err := r.Send(within(t, patience), pod("a", 3)); err != nil {
		t.Error(err)
	}
	r.Abort()
	r.Abort()
}

// TestGivenUp checks that a record that was stored after its message was given up does not confirm a later message with the same ID,
// which occurs if a resource disappears and is served again.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{})
	send := func(of event.Type, version int) {
		t.Helper()
		if err := r.Send(within(t, patience), message(of, version)); err != nil {
			t.Error(err)
		}
	}
	send(event.Modified, 1)
	command(t, k, "deaf")
	if err := r.Send(within(t, 200*time.Millisecond), message(event.Added, 2)); err == nil {
		t.Error("without a response: got no error")
	}
	command(t, k, "open")
	eventually(t, "the record is stored", func() bool { return !r.flights.isBusy() })
	send(event.Deleted, 3)
	send(event.Added, 2)
	if got := fmt.Sprint(values(stored(t, k))); got != "[a1 a2 a3 - a2]" {
		t.Errorf("got records %s, want [a1 a2 a3 - a2]", got)
	}
	if len(r.flights.bySlot) > 0 {
		t.Errorf("got %d flights at the end, want none", len(r.flights.bySlot))
	}
}

// message returns a message about the pod a with an event type.
func message(of event.Type, version int) *deliver.Message {
	m := pod("a", version)
	m.Type, m.ID = of, fmt.Sprintf("uid-a/%d/%s", version, of)
	return m
}

// TestSilent checks that brokers that stop responding count as down, even without a deadline.
func TestSilent(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{PingInterval: 200 * time.Millisecond})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	command(t, k, "mute")
	if err := r.Send(t.Context(), pod("a", 2)); !isDown(err) || !strings.Contains(err.Error(), "no broker answers within") {
		t.Errorf("silent broker: got %v, want a DownError", err)
	}
	command(t, k, "open")
	eventually(t, "the broker responds again", func() bool { return r.Send(t.Context(), pod("a", 2)) == nil })
	if got := fmt.Sprint(values(stored(t, k))); got != "[a1 a2]" {
		t.Errorf("got records %s, want [a1 a2]", got)
	}
}

// TestAway checks that Send returns a DownError while no broker runs, and that failed messages are not sent later.
func TestAway(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{PingInterval: 200 * time.Millisecond})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	k.Kill()
	eventually(t, "Send returns a DownError", func() bool {
		err := r.Send(within(t, time.Second), pod("a", 2))
		return isDown(err) && strings.Contains(err.Error(), "refused")
	})
	if err := k.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the broker responds again", func() bool { return r.Send(within(t, 10*time.Second), pod("a", 3)) == nil })
	got := values(stored(t, k))
	if got[0] != "a1" || got[len(got)-1] != "a3" {
		t.Errorf("got records %s, want a1 first and a3 last", got)
	}
}

// TestErrors checks that the client retries after temporary errors, and that Send returns permanent ones.
func TestErrors(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{})
	for i, code := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.RequestTimedOut} {
		command(t, k, fmt.Sprintf("error 2 %d", code.Code))
		if err := r.Send(t.Context(), pod("a", i+1)); err != nil {
			t.Errorf("%s: %v", code.Message, err)
		}
	}
	command(t, k, fmt.Sprintf("error 1 %d", kerr.TopicAuthorizationFailed.Code))
	if err := r.Send(t.Context(), pod("a", 4)); !isDown(err) || err.Error() != "the user may not write to the topic k8s" {
		t.Errorf("missing permission: got %v, want a DownError", err)
	}
	command(t, k, fmt.Sprintf("error 2 %d", kerr.InvalidRecord.Code))
	if err := r.Send(t.Context(), pod("a", 5)); !isRefused(err) || !strings.HasPrefix(err.Error(), "the broker refuses it: INVALID_RECORD") {
		t.Errorf("invalid record: got %v, want a RefusedError", err)
	}
	command(t, k, fmt.Sprintf("error 1 %d", kerr.InvalidRecord.Code)) // as if another record in the batch were invalid
	if err := r.Send(t.Context(), pod("a", 6)); err != nil {
		t.Errorf("another record is invalid: got %v, want no error", err)
	}
	if got := fmt.Sprint(values(stored(t, k))); got != "[a1 a2 a3 a6]" {
		t.Errorf("got records %s, want [a1 a2 a3 a6]", got)
	}
}

// TestLeaderAway checks that the error of an attempt has the reason if the leader of a partition refuses connections while another
// broker responds.
func TestLeaderAway(t *testing.T) {
	t.Parallel()
	k := newBroker(t, "--brokers", "2")
	r := newReceiver(t, k, kafka.Options{PingInterval: 200 * time.Millisecond})
	for i := range 20 {
		if err := r.Send(t.Context(), pod(fmt.Sprint("p", i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	command(t, k, "away")
	failed := false
	for i := 0; i < 20 && !failed; i++ { // the other broker is the leader for some of the pods
		err := r.Send(within(t, 10*time.Second), pod(fmt.Sprint("p", i), 2))
		if failed = err != nil && !isDown(err); failed && !regexp.MustCompile(`^not stored within 10s: .*127\.0\.0\.1:\d+: connect: connection refused`).MatchString(err.Error()) {
			t.Errorf("got %v, want the refused connection as the reason", err)
		}
	}
	if !failed {
		t.Error("all records were stored")
	}
}

// TestPartitionProblems checks the descriptions of partitions that accept no records.
func TestPartitionProblems(t *testing.T) {
	healthy := kmsg.MetadataResponseTopicPartition{Replicas: []int32{0, 1}, ISR: []int32{1, 0}}
	few := kmsg.MetadataResponseTopicPartition{Partition: 3, Replicas: []int32{0, 1, 2}, ISR: []int32{1}}
	none := kmsg.MetadataResponseTopicPartition{Partition: 4, ErrorCode: kerr.LeaderNotAvailable.Code}
	for want, partitions := range map[string][]kmsg.MetadataResponseTopicPartition{
		"": {healthy, healthy},
		"partition 3 has 1 of 3 replicas in sync: are these fewer than the topic's min.insync.replicas?": {healthy, few},
		"partition 4: " + kerr.LeaderNotAvailable.Error():                                                {few, none, healthy},
	} {
		if got := troubleOf(partitions); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestBounded checks that the memory for records in flight is limited while brokers do not respond, regardless of the number of
// workers and the size of messages.
func TestBounded(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{})
	r.bytes, r.room = 1<<20, semaphore.NewWeighted(1<<20)
	if err := r.Send(t.Context(), pod("first", 1)); err != nil {
		t.Fatal(err)
	}
	command(t, k, "deaf")
	client := r.session.Load().client
	var sending sync.WaitGroup
	var stored, failed, most atomic.Int64
	for i := range 64 {
		sending.Go(func() {
			m := pod(fmt.Sprint("p", i, "-"), 1)
			m.Body = bytes.Repeat([]byte("a"), 200_000)
			for t.Context().Err() == nil {
				if err := r.Send(within(t, 300*time.Millisecond), m); err == nil {
					stored.Add(1)
					return
				}
				failed.Add(1)
				if buffered := client.BufferedProduceBytes(); buffered > most.Load() {
					most.Store(buffered)
				}
			}
		})
	}
	eventually(t, "each message has failed several times", func() bool { return failed.Load() >= 3*64 })
	command(t, k, "open")
	sending.Wait()
	if stored.Load() != 64 || most.Load() > 2<<20 || most.Load() < 200_000 {
		t.Errorf("got %d records stored and at most %d bytes buffered, want 64 and 200000 to %d", stored.Load(), most.Load(), 2<<20)
	}
}

// noise returns n bytes that can't be compressed.
func noise(n int) []byte {
	some := make([]byte, n)
	for i := range some {
		some[i] = byte(rand.Uint32())
	}
	return some
}

// TestTooLargeDeletion checks that the tombstone of a deleted object is stored even if the event itself is too large.
func TestTooLargeDeletion(t *testing.T) {
	t.Parallel()
	k := newBroker(t, "--max-bytes", "20000")
	r := newReceiver(t, k, kafka.Options{})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	gone := pod("a", 2)
	gone.Type, gone.Body = event.Deleted, noise(24_000)
	if err := r.Send(t.Context(), gone); !isRefused(err) {
		t.Errorf("got %v, want a RefusedError", err)
	}
	records := stored(t, k)
	if len(records) != 2 || string(records[1].Key) != string(records[0].Key) || records[1].Value != nil {
		t.Errorf("got records %q, want the first event and a tombstone", values(records))
	}
}

// TestTooLarge checks that Send returns a RefusedError for records that are too large, and that other records of the same batch are
// stored.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	k := newBroker(t, "--max-bytes", "20000")
	r := newReceiver(t, k, kafka.Options{})
	var sending sync.WaitGroup
	var refused sync.Map
	for i := range 40 {
		sending.Go(func() {
			m := pod(fmt.Sprint("p", i, "-"), 1)
			if m.Body = noise(12_000); i%10 == 0 {
				m.Body = noise(24_000)
			}
			for {
				switch err := r.Send(t.Context(), m); {
				case err == nil:
					return
				case isRefused(err):
					refused.Store(i, err.Error())
					return
				case isDown(err):
					t.Error(err)
					return
				}
			}
		})
	}
	sending.Wait()
	for i := range 40 {
		why, isRefused := refused.Load(i)
		if isRefused != (i%10 == 0) {
			t.Errorf("record %d: refused %t, want %t: %v", i, isRefused, i%10 == 0, why)
		}
		if isRefused && why != "it exceeds max.message.bytes of the topic: 24000 bytes before compression" {
			t.Errorf("record %d: got %v", i, why)
		}
	}
	if got := len(stored(t, k)); got != 36 {
		t.Errorf("got %d records stored, want 36", got)
	}
	large := pod("large", 1)
	large.Body = bytes.Repeat([]byte("a"), 4<<20) // small after compression
	if err := r.Send(t.Context(), large); err != nil {
		t.Errorf("compressible record: %v", err)
	}
}

// TestNoTopic checks that a missing topic is reported with a command that creates it, and that a topic that was deleted and created
// again is used.
func TestNoTopic(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{})
	admin := kadm.NewClient(client(t, k))
	remove := func() {
		t.Helper()
		if _, err := admin.DeleteTopic(t.Context(), topic); err != nil {
			t.Fatal(err)
		}
	}
	want := "there is no topic k8s at " + k.Address + ": 'kafka-topics.sh --bootstrap-server " + k.Address + " --create --topic k8s --config cleanup.policy=compact' creates one that keeps the last state of each object"
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	remove()
	eventually(t, "Send reports the missing topic", func() bool {
		err := r.Send(t.Context(), pod("a", 2))
		return isDown(err) && err.Error() == want
	})
	_, isSetup := errors.AsType[*deliver.SetupError](r.Check(t.Context()))
	if !isSetup {
		t.Error("Check returns no SetupError")
	}
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new topic is used", func() bool { return r.Send(t.Context(), pod("a", 3)) == nil })
	if got := fmt.Sprint(values(stored(t, k))); got != "[a3]" {
		t.Errorf("got records %s, want [a3]", got)
	}
}

const password = "hunter2-hunter2"

// TestLogin checks logins with each SASL mechanism, and the errors for a wrong password and for none.
func TestLogin(t *testing.T) {
	t.Parallel()
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		k := newBroker(t, "--user", mechanism+":dw:"+password)
		as := func(text, by string) *Receiver {
			return newReceiver(t, k, kafka.Options{Login: secret.Source{Name: "--kafka-login", Path: file(t, "login", text)}, Mechanism: by})
		}
		for _, by := range []string{"", strings.ToLower(mechanism)} {
			if err := as("dw:"+password+"\n", by).Send(t.Context(), pod("a", 1)); err != nil {
				t.Errorf("broker with %s, --kafka-sasl %q: %v", mechanism, by, err)
			}
		}
		stranger := as("dw:wrong", "")
		err := stranger.Check(t.Context())
		want := k.Address + " rejected the login: SASL_AUTHENTICATION_FAILED"
		if mechanism != "PLAIN" { // the test broker closes the connection without an error
			want = k.Address + " closed the connection during the login, probably because of an invalid user or password; "
		}
		if err == nil || isDown(err) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s, wrong password: got %v, want %s", mechanism, err, want)
		}
		if err := stranger.Send(t.Context(), pod("a", 2)); !isDown(err) { // the broker may accept the login later
			t.Errorf("%s, wrong password: Send returned %v, want a DownError", mechanism, err)
		}
		anonymous := newReceiver(t, k, kafka.Options{})
		if err := anonymous.Check(t.Context()); !isDown(err) || !strings.Contains(err.Error(), "--kafka-login") {
			t.Errorf("%s, no login: got %v, want a DownError that names the flag", mechanism, err)
		}
	}
}

// TestNoPlain checks that NoPlain prevents sending the password itself, even if the broker supports nothing else.
func TestNoPlain(t *testing.T) {
	t.Parallel()
	k := newBroker(t, "--user", "PLAIN:dw:"+password)
	r := newReceiver(t, k, kafka.Options{Login: secret.Source{Name: "l", Text: "dw:" + password}, NoPlain: true})
	if err := r.Check(t.Context()); err == nil || isDown(err) || !strings.Contains(err.Error(), "rejected the login: UNSUPPORTED_SASL_MECHANISM") {
		t.Errorf("got %v, want a rejected login", err)
	}
}

// TestPlainToRemoteBroker checks that the password is not sent unencrypted to a broker that is not on this machine. The name
// LOCALHOST stands for such a broker.
func TestPlainToRemoteBroker(t *testing.T) {
	t.Parallel()
	k := newBroker(t, "--user", "PLAIN:dw:"+password)
	_, port, _ := strings.Cut(k.Address, ":")
	for _, by := range []string{"", kafka.Plain} {
		r, err := New(kafka.Options{Brokers: []string{"LOCALHOST:" + port}, Topic: topic, Mechanism: by, Login: secret.Source{Name: "l", Text: "dw:" + password}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		if err := r.Check(t.Context()); err == nil || isDown(err) || !strings.HasSuffix(err.Error(), "PLAIN, which would send the password unencrypted: use kafka+tls://") {
			t.Errorf("--kafka-sasl %q: got %v", by, err)
		}
	}
}

// TestRefusedAndAway checks that a rejected login is reported even if another broker does not run.
func TestRefusedAndAway(t *testing.T) {
	t.Parallel()
	k := newBroker(t, "--user", "PLAIN:dw:"+password)
	r, err := New(kafka.Options{Brokers: []string{"127.0.0.1:1", k.Address}, Topic: topic, Login: secret.Source{Name: "l", Text: "dw:wrong"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if err := r.Check(t.Context()); err == nil || isDown(err) || !strings.Contains(err.Error(), "rejected the login") {
		t.Errorf("got %v, want a rejected login", err)
	}
}

// TestAwayDuringLogin checks that a broker that does not run is not reported as one that rejected the login, while a login to
// another broker is in progress.
func TestAwayDuringLogin(t *testing.T) {
	t.Parallel()
	r, err := New(kafka.Options{Brokers: []string{"127.0.0.1:1"}, Topic: topic, Login: secret.Source{Name: "l", Text: "dw:" + password}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	r.logins.Store("127.0.0.1:2", time.Now().Add(time.Hour))
	if err := r.Check(t.Context()); !isDown(err) || !strings.Contains(err.Error(), "no connection") {
		t.Errorf("got %v, want a DownError about the connection", err)
	}
}

// TestDenied checks that Send returns a DownError for a user that may read the topic and not write to it.
func TestDenied(t *testing.T) {
	t.Parallel()
	k := newBroker(t, "--user", "PLAIN:dw:"+password, "--reader")
	r := newReceiver(t, k, kafka.Options{Login: secret.Source{Name: "l", Text: "dw:" + password}})
	if err := r.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Send(within(t, patience), pod("a", 1)); !isDown(err) || !strings.Contains(err.Error(), "the user may not ") {
			t.Errorf("got %v, want a DownError", err)
		}
	}
	if got := len(stored(t, k, kgo.SASL(plain.Auth{User: "dw", Pass: password}.AsMechanism()))); got != 0 {
		t.Errorf("got %d records stored, want none", got)
	}
}

// TestTLS checks that the Receiver verifies the broker's certificate, and presents its own.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := testenv.WriteCertificates(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	k := newBroker(t, "--cert", path("server.crt"), "--key", path("server.key"), "--client-ca", path("ca.crt"))
	all := deliver.TLS{CA: path("ca.crt"), Cert: path("client.crt"), Key: path("client.key")}
	if err := newReceiver(t, k, kafka.Options{UseTLS: true, TLS: all}).Send(t.Context(), pod("a", 1)); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct {
		o      kafka.Options
		want   string
		isDown bool
	}{
		"unknown authority": {kafka.Options{UseTLS: true}, "unknown authority; set --to-ca to a file with the certificate of its authority", false},
		"another authority": {kafka.Options{UseTLS: true, TLS: deliver.TLS{CA: path("client.crt")}}, "unknown authority", false},
		"no certificate":    {kafka.Options{UseTLS: true, TLS: deliver.TLS{CA: all.CA}}, "certificate required", true},
		"no TLS":            {kafka.Options{}, "TLS", true},
	} {
		if err := newReceiver(t, k, test.o).Check(t.Context()); err == nil || isDown(err) != test.isDown || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, test.want)
		}
	}
	withoutTLS := newBroker(t)
	if err := newReceiver(t, withoutTLS, kafka.Options{UseTLS: true, TLS: all}).Check(t.Context()); !isDown(err) {
		t.Errorf("broker without TLS: got %v, want a DownError", err)
	}
}

// TestNoTLS checks the errors for servers that do not support TLS.
func TestNoTLS(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"":                 "it closed the connection at once: it may require another login (--kafka-login) or no TLS (kafka://)",
		"HTTP/1.0 400\r\n": "it does not speak TLS: is it a kafka:// address?",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 64<<10)) // closing with unread data would reset the connection
				_, _ = io.WriteString(c, answer)
				c.Close()
			}
		}()
		r, err := New(kafka.Options{Brokers: []string{l.Addr().String()}, Topic: topic, UseTLS: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		if err := r.Check(t.Context()); !isDown(err) || err.Error() != want {
			t.Errorf("response %q: got %v, want %s", answer, err, want)
		}
	}
}

// TestCancelled checks that Send returns when its context is cancelled, also while it connects.
func TestCancelled(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	for _, isConnected := range []bool{true, false} {
		r := newReceiver(t, k, kafka.Options{})
		if isConnected {
			if err := r.Send(t.Context(), pod("a", 1)); err != nil {
				t.Fatal(err)
			}
		}
		command(t, k, "mute")
		ctx, cancel := context.WithCancel(t.Context())
		var sending sync.WaitGroup
		for i := range 20 {
			sending.Go(func() {
				if err := r.Send(ctx, pod(fmt.Sprint("p", i), 1)); err == nil {
					t.Error("Send returned no error")
				}
			})
		}
		if isConnected {
			eventually(t, "all records are in flight", func() bool {
				r.flights.mu.Lock()
				defer r.flights.mu.Unlock()
				return len(r.flights.bySlot) == 20
			})
		}
		cancel()
		ended := make(chan struct{})
		go func() {
			sending.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatalf("connected %t: Send did not return", isConnected)
		}
		command(t, k, "open")
	}
}

// TestKilled kills and restarts the broker several times during delivery. In the end, the topic must have all events, and the events
// of an object in order. Repetitions are allowed.
func TestKilled(t *testing.T) {
	t.Parallel()
	const objects, versions, kills = 20, 60, 3
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{PingInterval: 500 * time.Millisecond})
	sendAll := func(name string, sent func()) {
		for v := range versions {
			for {
				err := r.Send(within(t, 5*time.Second), pod(name, v+1))
				if err == nil {
					break
				}
				if isRefused(err) || t.Context().Err() != nil {
					t.Error(err)
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			sent()
		}
	}
	var sending sync.WaitGroup
	delivered := make(chan struct{}, objects*versions)
	for o := range objects {
		sending.Go(func() { sendAll(fmt.Sprintf("pod-%d-", o), func() { delivered <- struct{}{} }) })
	}
	for i := range kills {
		eventually(t, "some records are stored", func() bool { return len(delivered) > (i+1)*objects*versions/(kills+2) })
		k.Kill()
		if err := k.Restart(); err != nil {
			t.Fatal(err)
		}
	}
	sending.Wait()
	last, repeated := map[string]int{}, 0
	for _, one := range stored(t, k) {
		var version int
		key := string(one.Key)
		if _, err := fmt.Sscanf(strings.TrimPrefix(string(one.Value), strings.TrimPrefix(key, "uid-")), "%d", &version); err != nil {
			t.Fatalf("%s: %s", key, one.Value)
		}
		switch {
		case version == last[key]+1:
			last[key] = version
		case version <= last[key]:
			repeated++
		default:
			t.Errorf("%s: version %d follows %d", key, version, last[key])
		}
	}
	t.Logf("%d records were repeated", repeated)
	for key, version := range last {
		if version != versions {
			t.Errorf("%s ends with version %d, want %d", key, version, versions)
		}
	}
	if len(last) != objects {
		t.Errorf("got records of %d objects, want %d", len(last), objects)
	}
}
