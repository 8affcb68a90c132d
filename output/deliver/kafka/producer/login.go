package producer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"dwatch/output/deliver"
	"dwatch/output/deliver/kafka"
	"dwatch/output/deliver/secret"
)

// login has the credentials for SASL.
type login struct{ user, password string }

func parseLogin(text string) (l login, err error) {
	l.user, l.password, _ = strings.Cut(strings.TrimSpace(text), ":")
	if l.user == "" || l.password == "" {
		err = errors.New("it contains no USER:PASSWORD")
	}
	return l, err
}

// mechanisms returns the SASL mechanisms that a broker may choose from. Each login uses the current content of the file.
func (r *Receiver) mechanisms() (offered []sasl.Mechanism) {
	bySCRAM := func(context.Context) (scram.Auth, error) {
		l, err := r.login.Get()
		return scram.Auth{User: l.user, Pass: l.password}, err
	}
	byPlain := func(context.Context) (plain.Auth, error) {
		l, err := r.login.Get()
		return plain.Auth{User: l.user, Pass: l.password}, err
	}
	for i, one := range []sasl.Mechanism{scram.Sha512(bySCRAM), scram.Sha256(bySCRAM), &plainMechanism{plain.Plain(byPlain), r}} {
		name := kafka.Mechanisms()[i]
		if r.Mechanism == name || r.Mechanism == "" && !(name == kafka.Plain && r.NoPlain) {
			offered = append(offered, &observedMechanism{one, r})
		}
	}
	return offered
}

// observedMechanism records unfinished logins in Receiver.logins. Some brokers close the connection instead of reporting that a
// password is wrong.
type observedMechanism struct {
	sasl.Mechanism
	receiver *Receiver
}

func (o *observedMechanism) Authenticate(ctx context.Context, address string) (sasl.Session, []byte, error) {
	session, first, err := o.Mechanism.Authenticate(ctx, address)
	if err != nil {
		return session, first, err
	}
	o.receiver.logins.Store(address, time.Now())
	return &observedSession{session, o.receiver, address}, first, nil
}

type observedSession struct {
	sasl.Session
	receiver *Receiver
	address  string
}

func (o *observedSession) Challenge(challenge []byte) (done bool, response []byte, err error) {
	if done, response, err = o.Session.Challenge(challenge); done {
		o.receiver.logins.Delete(o.address)
	}
	return done, response, err
}

// isLoginCut reports whether any login that began at or after since has not finished.
func (r *Receiver) isLoginCut(since time.Time) (is bool) {
	r.logins.Range(func(_, began any) bool {
		is = !began.(time.Time).Before(since)
		return !is
	})
	return is
}

// plainMechanism sends the password itself. Without TLS, it fails for remote brokers. A local seed broker may refer to
// such a broker.
type plainMechanism struct {
	sasl.Mechanism
	receiver *Receiver
}

func (p *plainMechanism) Authenticate(ctx context.Context, address string) (sasl.Session, []byte, error) {
	if !p.receiver.UseTLS && !secret.IsLoopback(address) {
		err := &inClearError{address}
		p.receiver.inClear.Store(err)
		return nil, nil, err
	}
	return p.Mechanism.Authenticate(ctx, address)
}

// inClearError reports that logging in to a broker would send the password in the clear.
type inClearError struct{ address string }

func (e *inClearError) Error() string {
	return fmt.Sprintf("the broker %s only supports PLAIN, which would send the password unencrypted: use kafka+tls://", e.address)
}

// dial opens a connection. It reads the files with certificates again.
func (r *Receiver) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if !r.UseTLS {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	config, err := secret.TLSConfig(r.TLS)
	if err != nil {
		return nil, err
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
}

// notConnected returns an error that explains why a request to a broker failed with err. began is when the request began.
func (r *Receiver) notConnected(ctx context.Context, began time.Time, err error) error {
	var inClear *inClearError
	var op *net.OpError
	var eof *kgo.ErrFirstReadEOF
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var wrong *tls.CertificateVerificationError
	// A failed dial comes before isLoginCut, which also reports logins to other brokers that are still in progress.
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.IllegalSaslState), errors.Is(err, kerr.UnsupportedSaslMechanism):
		return fmt.Errorf("%s rejected the login: %w; check --kafka-login and --kafka-sasl", r.place(), err)
	case errors.As(err, &op) && op.Op == "dial":
		return &deliver.DownError{Err: fmt.Errorf("no connection: %w", op)}
	case ctx.Err() == nil && r.isLoginCut(began):
		return fmt.Errorf("%s closed the connection during the login, probably because of an invalid user or password; check --kafka-login and --kafka-sasl", r.place())
	case errors.As(err, &inClear):
		return inClear
	case errors.As(err, &authority), errors.As(err, &wrong):
		return fmt.Errorf("TLS with %s: %w", r.place(), secret.ExplainConnectionError(err, "--to-ca"))
	case errors.As(err, &record):
		return &deliver.DownError{Err: errors.New("it does not speak TLS: is it a kafka:// address?")}
	case errors.As(err, &eof), errors.Is(err, io.EOF):
		other := "TLS (kafka+tls://)"
		if r.UseTLS {
			other = "no TLS (kafka://)"
		}
		return &deliver.DownError{Err: fmt.Errorf("it closed the connection at once: it may require another login (--kafka-login) or %s", other)}
	case ctx.Err() != nil:
		return &deliver.DownError{Err: fmt.Errorf("no broker answers within %s", openTimeout)}
	}
	return &deliver.DownError{Err: fmt.Errorf("no connection: %w", secret.ExplainConnectionError(err, "--to-ca"))}
}

// place returns the addresses of the seed brokers for messages.
func (r *Receiver) place() string { return strings.Join(r.Brokers, ",") }

// noTopic returns an error that explains how to create the topic.
func (r *Receiver) noTopic() error {
	return fmt.Errorf("there is no topic %s at %s: 'kafka-topics.sh --bootstrap-server %s --create --topic %s --config cleanup.policy=compact' creates one that keeps the last state of each object", r.Topic, r.place(), r.Brokers[0], r.Topic)
}
