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

// TestStored: a record has the object as its key, the event as its value, and the attributes of the CloudEvent as headers, as they
// are; a deletion is followed by a tombstone under the same key.
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
	if got := fmt.Sprint(said(records)); got != "[ä b1 ä b2 -]" {
		t.Fatal(got)
	}
	for _, one := range records {
		if string(one.Key) != "uid-ä b" || one.Partition != records[0].Partition {
			t.Errorf("%q in %d", one.Key, one.Partition)
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
			t.Errorf("%s: %q", name, headers[name])
		}
	}
	if len(records[2].Headers) != 0 {
		t.Errorf("a tombstone with %v", records[2].Headers)
	}
	if len(r.flights) != 0 {
		t.Errorf("%d flights are left", len(r.flights))
	}
	several := pod("a", 1)
	several.Cluster = "eu"
	if got := string(r.record(several).Key); got != "eu/uid-a" {
		t.Error(got)
	}
}

// TestLostAnswer: what a broker has stored, and nobody was told of, is not stored again: neither by the try that comes next, nor
// by one that comes when the connection was lost.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	does(t, k, "deaf")
	for range 3 {
		if err := r.Send(within(t, 200*time.Millisecond), pod("a", 2)); err == nil || isRefused(err) || err.Error() != "not stored within 200ms" {
			t.Errorf("%v", err)
		}
	}
	does(t, k, "drop")
	does(t, k, "open")
	eventually(t, "it is known to be stored", func() bool { return r.Send(within(t, time.Second), pod("a", 2)) == nil })
	if err := r.Send(t.Context(), pod("a", 3)); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(said(stored(t, k))); got != "[a1 a2 a3]" {
		t.Error(got)
	}
}

// TestAbort: what a try has left on its way is not sent any more, and what comes then is.
func TestAbort(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	does(t, k, "deaf")
	ctx, cut := context.WithCancel(t.Context())
	sent := make(chan error)
	go func() { sent <- r.Send(ctx, pod("a", 2)) }()
	client := r.session.Load().client
	eventually(t, "it is on its way", func() bool { return r.isBusy() && client.BufferedProduceRecords() == 1 })
	cut()
	if err := <-sent; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.Abort()
	eventually(t, "nothing is on its way", func() bool { return !r.isBusy() && client.BufferedProduceRecords() == 0 })
	does(t, k, "open")
	if err := r.Send(within(t, patience), pod("a", 3)); err != nil {
		t.Error(err)
	}
	r.Abort()
	r.Abort()
}

// TestGivenUp: what is stored after it was given up is not taken for what comes later with the same ID, as when a resource goes and
// is served again.
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
	does(t, k, "deaf")
	if err := r.Send(within(t, 200*time.Millisecond), message(event.Added, 2)); err == nil {
		t.Error("stored")
	}
	does(t, k, "open")
	eventually(t, "it is stored", func() bool { return !r.isBusy() })
	send(event.Deleted, 3)
	send(event.Added, 2)
	if got := fmt.Sprint(said(stored(t, k))); got != "[a1 a2 a3 - a2]" {
		t.Error(got)
	}
	if len(r.flights) > 0 {
		t.Errorf("%d flights are left", len(r.flights))
	}
}

// message is what happened to the pod a.
func message(of event.Type, version int) *deliver.Message {
	m := pod("a", version)
	m.Type, m.ID = of, fmt.Sprintf("uid-a/%d/%s", version, of)
	return m
}

// TestSilent: brokers that live no more, without a word, are noticed without a deadline.
func TestSilent(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{PingInterval: 200 * time.Millisecond})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	does(t, k, "mute")
	if err := r.Send(t.Context(), pod("a", 2)); !isDown(err) || !strings.Contains(err.Error(), "no broker answers within") {
		t.Errorf("%v", err)
	}
	does(t, k, "open")
	eventually(t, "it works again", func() bool { return r.Send(t.Context(), pod("a", 2)) == nil })
	if got := fmt.Sprint(said(stored(t, k))); got != "[a1 a2]" {
		t.Error(got)
	}
}

// TestAway: while there is no broker that is said, and nothing is kept that is sent later but by another Send.
func TestAway(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{PingInterval: 200 * time.Millisecond})
	if err := r.Send(t.Context(), pod("a", 1)); err != nil {
		t.Fatal(err)
	}
	k.Kill()
	eventually(t, "it is down", func() bool {
		err := r.Send(within(t, time.Second), pod("a", 2))
		return isDown(err) && strings.Contains(err.Error(), "refused")
	})
	if err := k.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it works again", func() bool { return r.Send(within(t, 10*time.Second), pod("a", 3)) == nil })
	got := said(stored(t, k))
	if got[0] != "a1" || got[len(got)-1] != "a3" {
		t.Error(got)
	}
}

// TestErrors: what a broker answers for a while is tried again by the client; what would not get better by itself is said.
func TestErrors(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{})
	for i, code := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.RequestTimedOut} {
		does(t, k, fmt.Sprintf("error 2 %d", code.Code))
		if err := r.Send(t.Context(), pod("a", i+1)); err != nil {
			t.Errorf("%s: %v", code.Message, err)
		}
	}
	does(t, k, fmt.Sprintf("error 1 %d", kerr.TopicAuthorizationFailed.Code))
	if err := r.Send(t.Context(), pod("a", 4)); !isDown(err) || err.Error() != "the user may not write to the topic k8s" {
		t.Errorf("%v", err)
	}
	does(t, k, fmt.Sprintf("error 2 %d", kerr.InvalidRecord.Code))
	if err := r.Send(t.Context(), pod("a", 5)); !isRefused(err) || !strings.HasPrefix(err.Error(), "the broker refuses it: INVALID_RECORD") {
		t.Errorf("%v", err)
	}
	does(t, k, fmt.Sprintf("error 1 %d", kerr.InvalidRecord.Code)) // of another one in its batch
	if err := r.Send(t.Context(), pod("a", 6)); err != nil {
		t.Errorf("%v", err)
	}
	if got := fmt.Sprint(said(stored(t, k))); got != "[a1 a2 a3 a6]" {
		t.Error(got)
	}
}

// TestLeaderAway: while the leader of a partition lets nobody connect, and another broker answers, it is said why a record is not
// stored.
func TestLeaderAway(t *testing.T) {
	t.Parallel()
	k := newBroker(t, "--brokers", "2")
	r := newReceiver(t, k, kafka.Options{PingInterval: 200 * time.Millisecond})
	for i := range 20 {
		if err := r.Send(t.Context(), pod(fmt.Sprint("p", i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	does(t, k, "away")
	told := false
	for i := 0; i < 20 && !told; i++ { // some of them are led by the other broker
		err := r.Send(within(t, 10*time.Second), pod(fmt.Sprint("p", i), 2))
		if told = err != nil && !isDown(err); told && !regexp.MustCompile(`^not stored within 10s: .*127\.0\.0\.1:\d+: connect: connection refused`).MatchString(err.Error()) {
			t.Errorf("%v", err)
		}
	}
	if !told {
		t.Error("all is stored")
	}
}

// TestTrouble: what brokers say of partitions that can't take records.
func TestTrouble(t *testing.T) {
	well := kmsg.MetadataResponseTopicPartition{Replicas: []int32{0, 1}, ISR: []int32{1, 0}}
	few := kmsg.MetadataResponseTopicPartition{Partition: 3, Replicas: []int32{0, 1, 2}, ISR: []int32{1}}
	none := kmsg.MetadataResponseTopicPartition{Partition: 4, ErrorCode: kerr.LeaderNotAvailable.Code}
	for want, partitions := range map[string][]kmsg.MetadataResponseTopicPartition{
		"": {well, well},
		"partition 3 has 1 of 3 replicas in sync: are these fewer than the topic's min.insync.replicas?": {well, few},
		"partition 4: " + kerr.LeaderNotAvailable.Error():                                                {few, none, well},
	} {
		if got := troubleOf(partitions); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestBounded: however many workers there are, and however large what they send, little of it is held while brokers do not answer.
func TestBounded(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	r := newReceiver(t, k, kafka.Options{})
	r.bytes, r.room = 1<<20, semaphore.NewWeighted(1<<20)
	if err := r.Send(t.Context(), pod("first", 1)); err != nil {
		t.Fatal(err)
	}
	does(t, k, "deaf")
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
				if held := client.BufferedProduceBytes(); held > most.Load() {
					most.Store(held)
				}
			}
		})
	}
	eventually(t, "each has failed some times", func() bool { return failed.Load() >= 3*64 })
	does(t, k, "open")
	sending.Wait()
	if stored.Load() != 64 || most.Load() > 2<<20 || most.Load() < 200_000 {
		t.Errorf("%d are stored; %d bytes were held", stored.Load(), most.Load())
	}
}

// noise is what no compression makes smaller.
func noise(n int) []byte {
	some := make([]byte, n)
	for i := range some {
		some[i] = byte(rand.Uint32())
	}
	return some
}

// TestTooLargeDeletion: a compacted topic forgets what is gone, though the event that says so is too large.
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
		t.Errorf("it is not refused: %v", err)
	}
	records := stored(t, k)
	if len(records) != 2 || string(records[1].Key) != string(records[0].Key) || records[1].Value != nil {
		t.Errorf("%q", said(records))
	}
}

// TestTooLarge: what is too large is refused, whatever else was sent with it, and that is stored.
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
			t.Errorf("%d: %v", i, why)
		}
		if isRefused && why != "it exceeds max.message.bytes of the topic: 24000 bytes before compression" {
			t.Error(why)
		}
	}
	if got := len(stored(t, k)); got != 36 {
		t.Errorf("%d stored", got)
	}
	large := pod("large", 1)
	large.Body = bytes.Repeat([]byte("a"), 4<<20) // which compression makes small
	if err := r.Send(t.Context(), large); err != nil {
		t.Error(err)
	}
}

// TestNoTopic: without a topic it is said how to make one; one that is deleted, and made anew, goes on.
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
	eventually(t, "it is missed", func() bool {
		err := r.Send(t.Context(), pod("a", 2))
		return isDown(err) && err.Error() == want
	})
	_, isSetup := errors.AsType[*deliver.SetupError](r.Check(t.Context()))
	if !isSetup {
		t.Error("it is no mistake at the start")
	}
	if _, err := admin.CreateTopic(t.Context(), 1, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it works again", func() bool { return r.Send(t.Context(), pod("a", 3)) == nil })
	if got := fmt.Sprint(said(stored(t, k))); got != "[a3]" {
		t.Error(got)
	}
}

const password = "hunter2-hunter2"

// TestLogin: who dwatch is, by each mechanism, from a file that is read again.
func TestLogin(t *testing.T) {
	t.Parallel()
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		k := newBroker(t, "--user", mechanism+":dw:"+password)
		as := func(text, by string) *Receiver {
			return newReceiver(t, k, kafka.Options{Login: secret.Source{Name: "--kafka-login", Path: file(t, "login", text)}, Mechanism: by})
		}
		for _, by := range []string{"", strings.ToLower(mechanism)} {
			if err := as("dw:"+password+"\n", by).Send(t.Context(), pod("a", 1)); err != nil {
				t.Errorf("%s by %q: %v", mechanism, by, err)
			}
		}
		stranger := as("dw:wrong", "")
		err := stranger.Check(t.Context())
		want := k.Address + " rejected the login: SASL_AUTHENTICATION_FAILED"
		if mechanism != "PLAIN" { // about which this broker says nothing
			want = k.Address + " closed the connection during the login, probably because of a wrong user or password; "
		}
		if err == nil || isDown(err) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: %v", mechanism, err)
		}
		if err := stranger.Send(t.Context(), pod("a", 2)); !isDown(err) { // it may be let in later
			t.Errorf("%v", err)
		}
		nobody := newReceiver(t, k, kafka.Options{})
		if err := nobody.Check(t.Context()); !isDown(err) || !strings.Contains(err.Error(), "--kafka-login") {
			t.Errorf("%s: %v", mechanism, err)
		}
	}
}

// TestNoPlain: where others could read it, a password is not shown, even if that is all that a broker knows.
func TestNoPlain(t *testing.T) {
	t.Parallel()
	k := newBroker(t, "--user", "PLAIN:dw:"+password)
	r := newReceiver(t, k, kafka.Options{Login: secret.Source{Name: "l", Text: "dw:" + password}, NoPlain: true})
	if err := r.Check(t.Context()); err == nil || isDown(err) || !strings.Contains(err.Error(), "rejected the login: UNSUPPORTED_SASL_MECHANISM") {
		t.Errorf("%v", err)
	}
}

// TestPlainElsewhere: a password is not shown to a broker elsewhere that one of this machine names. This one is named so that it
// can't be told from one elsewhere.
func TestPlainElsewhere(t *testing.T) {
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
			t.Errorf("%v", err)
		}
	}
}

// TestRefusedAndAway: that a login is refused is said even if another broker is not there.
func TestRefusedAndAway(t *testing.T) {
	t.Parallel()
	k := newBroker(t, "--user", "PLAIN:dw:"+password)
	r, err := New(kafka.Options{Brokers: []string{"127.0.0.1:1", k.Address}, Topic: topic, Login: secret.Source{Name: "l", Text: "dw:wrong"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if err := r.Check(t.Context()); err == nil || isDown(err) || !strings.Contains(err.Error(), "rejected the login") {
		t.Errorf("%v", err)
	}
}

// TestDenied: a user that may see the topic, and not write to it.
func TestDenied(t *testing.T) {
	t.Parallel()
	k := newBroker(t, "--user", "PLAIN:dw:"+password, "--reader")
	r := newReceiver(t, k, kafka.Options{Login: secret.Source{Name: "l", Text: "dw:" + password}})
	if err := r.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Send(within(t, patience), pod("a", 1)); !isDown(err) || !strings.Contains(err.Error(), "the user may not ") {
			t.Errorf("%v", err)
		}
	}
	if got := len(stored(t, k, kgo.SASL(plain.Auth{User: "dw", Pass: password}.AsMechanism()))); got != 0 {
		t.Errorf("%d stored", got)
	}
}

// TestTLS: a certificate is checked, and one is shown.
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
		"unknown authority": {kafka.Options{UseTLS: true}, "unknown authority; --to-ca gives its authority", false},
		"another authority": {kafka.Options{UseTLS: true, TLS: deliver.TLS{CA: path("client.crt")}}, "unknown authority", false},
		"no certificate":    {kafka.Options{UseTLS: true, TLS: deliver.TLS{CA: all.CA}}, "certificate required", true},
		"no TLS":            {kafka.Options{}, "TLS", true},
	} {
		if err := newReceiver(t, k, test.o).Check(t.Context()); err == nil || isDown(err) != test.isDown || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	clear := newBroker(t)
	if err := newReceiver(t, clear, kafka.Options{UseTLS: true, TLS: all}).Check(t.Context()); !isDown(err) {
		t.Errorf("%v", err)
	}
}

// TestNoTLS: who speaks TLS to a broker that does not is told so.
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
				_, _ = c.Read(make([]byte, 64<<10)) // all, or its end would be a reset
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
			t.Errorf("%v", err)
		}
	}
}

// TestEnd: Send ends with its context, and while it connects, too.
func TestEnd(t *testing.T) {
	t.Parallel()
	k := newBroker(t)
	for _, isConnected := range []bool{true, false} {
		r := newReceiver(t, k, kafka.Options{})
		if isConnected {
			if err := r.Send(t.Context(), pod("a", 1)); err != nil {
				t.Fatal(err)
			}
		}
		does(t, k, "mute")
		ctx, cancel := context.WithCancel(t.Context())
		var sending sync.WaitGroup
		for i := range 20 {
			sending.Go(func() {
				if err := r.Send(ctx, pod(fmt.Sprint("p", i), 1)); err == nil {
					t.Error("sent")
				}
			})
		}
		if isConnected {
			eventually(t, "all are under way", func() bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				return len(r.flights) == 20
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
			t.Fatal("it does not end")
		}
		does(t, k, "open")
	}
}

// TestKilled: a broker that is killed again and again while many events are under way has all of them in the end, those of an
// object in their order.
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
	counted := make(chan struct{}, objects*versions)
	for o := range objects {
		sending.Go(func() { sendAll(fmt.Sprintf("pod-%d-", o), func() { counted <- struct{}{} }) })
	}
	for i := range kills {
		eventually(t, "some are stored", func() bool { return len(counted) > (i+1)*objects*versions/(kills+2) })
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
			t.Errorf("%s: %d after %d", key, version, last[key])
		}
	}
	t.Logf("%d repeated", repeated)
	for key, version := range last {
		if version != versions {
			t.Errorf("%s ends with %d", key, version)
		}
	}
	if len(last) != objects {
		t.Errorf("%d objects", len(last))
	}
}
