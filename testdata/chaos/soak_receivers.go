package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"dwatch/testdata/testenv"
)

// soakReceivers are the receivers, and the credentials that they and dwatch use.
type soakReceivers struct {
	known *mount // ca.crt for all receivers, and a token, credentials and a login
	dir   string // directory of the receivers' files
	own   *testenv.Authority
	hook  *soakHook
	nats  *testenv.NATS
	kafka *testenv.Kafka
	users *testenv.NATSAccount
}

const (
	soakSubject = "soak" // the subject of NATS and the topic of Kafka
	soakLogin   = "soak:hunter2-hunter2"
	// refusedFor is how long receivers reject dwatch if its new credentials come late.
	refusedFor   = 3 * time.Second
	listenWithin = 30 * time.Second
)

func newSoakReceivers(dir string, records map[string]*record) (_ *soakReceivers, err error) {
	r := &soakReceivers{dir: filepath.Join(dir, "receivers"), own: testenv.NewAuthority(), users: testenv.NewNATSAccount()}
	if r.known, err = newMount(filepath.Join(dir, "known")); err != nil {
		return nil, err
	}
	if err := errors.Join(
		os.Mkdir(r.dir, 0o700),
		r.known.set(map[string][]byte{"ca.crt": r.own.PEM, "login": []byte(soakLogin), "own.creds": []byte(r.users.Credentials(time.Time{}))}),
		r.sign("nats"), r.sign("kafka"),
		os.WriteFile(r.path("nats.conf"), fmt.Appendf(nil, "%stls { cert_file: %q, key_file: %q }\n", r.users.ServerConfig, r.path("nats.crt"), r.path("nats.key")), 0o600),
	); err != nil {
		return nil, err
	}
	if r.hook, err = newSoakHook(records); err != nil {
		return nil, err
	}
	if err := errors.Join(r.hook.show(r.own), r.newHookToken(context.Background(), false), r.newCredentials(time.Hour)); err != nil {
		return nil, err
	}
	if r.nats, err = testenv.StartNATS(r.path("nats"), "-c", r.path("nats.conf")); err != nil {
		return nil, errors.Join(err, r.stop())
	}
	if r.kafka, err = testenv.StartKafka(r.path("kafka"), "--topics", soakSubject+":3", "--user", "PLAIN:"+soakLogin,
		"--cert", r.path("kafka.crt"), "--key", r.path("kafka.key")); err != nil {
		return nil, errors.Join(err, r.stop())
	}
	return r, r.withStream(context.Background(), func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "SOAK", Subjects: []string{soakSubject + ".>"}})
		return err
	})
}

func (r *soakReceivers) path(name string) string { return filepath.Join(r.dir, name) }

// sign creates another certificate for a server.
func (r *soakReceivers) sign(name string) error {
	certificate, key := r.own.Sign(name)
	return errors.Join(replaceFile(r.path(name+".crt"), string(certificate)), replaceFile(r.path(name+".key"), string(key)))
}

// newHookToken gives dwatch another token for the webhook, and revokes the previous one. If late is true, dwatch gets
// the token only some time after that.
func (r *soakReceivers) newHookToken(ctx context.Context, late bool) error {
	before, token := string(r.known.content("token")), fmt.Sprintf("token-%d", time.Now().UnixNano())
	if late {
		r.hook.take(token)
		sleep(ctx, refusedFor)
	} else {
		r.hook.take(before, token)
	}
	defer r.hook.take(token)
	return r.known.set(map[string][]byte{"token": []byte(token)})
}

// newCredentials gives dwatch the credentials of another NATS user, which expire after lasts.
func (r *soakReceivers) newCredentials(lasts time.Duration) error {
	return r.known.set(map[string][]byte{"nats.creds": []byte(r.users.Credentials(time.Now().Add(lasts)))})
}

// restartNATS kills NATS, and starts it with another certificate.
func (r *soakReceivers) restartNATS() error {
	r.nats.Kill()
	return errors.Join(r.sign("nats"), r.nats.Restart())
}

// restartKafka does the same for Kafka.
func (r *soakReceivers) restartKafka() error {
	r.kafka.Kill()
	return errors.Join(r.sign("kafka"), r.kafka.Restart())
}

// newAuthority makes all receivers use certificates of another authority. dwatch trusts it before that.
func (r *soakReceivers) newAuthority() error {
	before := r.own
	r.own = testenv.NewAuthority()
	return errors.Join(
		r.known.set(map[string][]byte{"ca.crt": slices.Concat(before.PEM, r.own.PEM)}),
		r.hook.show(r.own), r.restartNATS(), r.restartKafka(),
		r.known.set(map[string][]byte{"ca.crt": r.own.PEM}))
}

// withStream calls a function with a client of NATS.
func (r *soakReceivers) withStream(ctx context.Context, do func(context.Context, jetstream.JetStream) error) error {
	nc, err := nats.Connect("tls://"+r.nats.Address, nats.RootCAs(r.known.path("ca.crt")), nats.UserCredentials(r.known.path("own.creds")), nats.Timeout(listenWithin))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, finalWithin)
	defer cancel()
	return do(ctx, js)
}

// readStream adds all messages of the NATS stream to a record.
func (r *soakReceivers) readStream(ctx context.Context, to *record) error {
	return r.withStream(ctx, func(ctx context.Context, js jetstream.JetStream) error {
		stream, err := js.Stream(ctx, "SOAK")
		if err != nil {
			return err
		}
		consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
		if err != nil {
			return err
		}
		for n := stream.CachedInfo().State.Msgs; n > 0; n-- {
			message, err := consumer.Next(jetstream.FetchMaxWait(listenWithin))
			if err != nil {
				return err
			}
			l, err := parseLine(message.Data())
			to.receive("stream", message.Headers().Get("ce-id"), message.Data(), l, err)
		}
		return nil
	})
}

// readTopic adds all messages of the Kafka topic to a record.
func (r *soakReceivers) readTopic(ctx context.Context, to *record) error {
	ctx, cancel := context.WithTimeout(ctx, finalWithin)
	defer cancel()
	user, password, _ := strings.Cut(soakLogin, ":")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(r.own.PEM)
	client, err := kgo.NewClient(kgo.SeedBrokers(r.kafka.Address), kgo.DialTLSConfig(&tls.Config{RootCAs: roots}),
		kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()),
		kgo.ConsumeTopics(soakSubject), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, soakSubject)
	if err != nil {
		return err
	}
	missing := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			missing[o.Partition] = o.Offset
		}
	})
	for len(missing) > 0 {
		fetched := client.PollFetches(ctx)
		if err := cmpErr(ctx.Err(), fetched.Err()); err != nil {
			return fmt.Errorf("read the topic: %w", err)
		}
		fetched.EachRecord(func(message *kgo.Record) {
			if message.Offset+1 >= missing[message.Partition] {
				delete(missing, message.Partition)
			}
			if message.Value == nil {
				return // a tombstone
			}
			l, err := parseLine(message.Value)
			to.receive("topic", kafkaHeader(message, "ce_id"), message.Value, l, err)
		})
	}
	return nil
}

func kafkaHeader(message *kgo.Record, name string) string {
	for _, h := range message.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

func (r *soakReceivers) stop() error {
	if r.hook != nil {
		r.hook.server.Close()
	}
	if r.nats != nil {
		r.nats.Kill()
	}
	if r.kafka != nil {
		r.kafka.Kill()
	}
	return nil
}

// soakHook is a webhook over TLS that only accepts requests with one of its tokens. Each rule has its own path.
type soakHook struct {
	*listener
	server  *http.Server
	records map[string]*record

	mu          sync.Mutex
	certificate *tls.Certificate
	tokens      []string
	refused     int
}

func newSoakHook(records map[string]*record) (*soakHook, error) {
	l, err := listen()
	if err != nil {
		return nil, err
	}
	h := &soakHook{listener: l, records: records}
	h.server = &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go h.server.Serve(tls.NewListener(l, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.certificate, nil
	}})) // until stop
	return h, nil
}

// show replaces the certificate, and resets all connections.
func (h *soakHook) show(signer *testenv.Authority) error {
	pair, err := tls.X509KeyPair(signer.Sign("hook"))
	h.mu.Lock()
	h.certificate = &pair
	h.mu.Unlock()
	h.reset()
	return err
}

// take sets the accepted tokens.
func (h *soakHook) take(tokens ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens = tokens
}

// ServeHTTP implements http.Handler.
func (h *soakHook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // an incomplete message
	}
	h.mu.Lock()
	known := slices.Contains(h.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if !known {
		h.refused++
	}
	h.mu.Unlock()
	if !known {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if rule := strings.TrimPrefix(r.URL.Path, "/"); h.records[rule] != nil {
		l, err := parseLine(body)
		h.records[rule].receive(rule, r.Header.Get("Ce-Id"), body, l, err)
	}
	w.WriteHeader(http.StatusNoContent)
}
