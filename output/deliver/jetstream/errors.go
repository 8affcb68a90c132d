package jetstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dwatch/output/deliver"
)

// notConnected returns an error that explains why connecting failed with err. dialed is the error of the TCP connection, or nil.
func (r *Receiver) notConnected(dialed, err error) error {
	switch {
	case dialed != nil:
		if cause, ok := errors.AsType[*net.OpError](dialed); ok {
			dialed = cause.Err
		}
		return &deliver.DownError{Err: fmt.Errorf("no connection: %w", dialed)}
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		return fmt.Errorf("%s rejected the login: %w; check --nats-creds, --nats-nkey or --nats-login", r.Server, err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%s does not speak TLS: %w", r.Server, err)
	case errors.Is(err, nats.ErrTLS) && r.Cert == "": // the server does not tell why it closed the connection
		return fmt.Errorf("TLS with %s: %w; it may require a certificate: set --to-cert", r.Server, err)
	case isTLS(err):
		return fmt.Errorf("TLS with %s: %w", r.Server, err)
	}
	return &deliver.DownError{Err: fmt.Errorf("no connection: %w", err)}
}

// isTLS reports whether an error is about a certificate or the TLS handshake. Such errors have many types, but their texts contain one
// of two prefixes.
func isTLS(err error) bool {
	return errors.Is(err, nats.ErrTLS) || strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "x509: ")
}

// explain converts the error of publish into an error that tells the Queue whether other messages are affected, or whether to retry.
func (r *Receiver) explain(c *conn, subject string, err error) error {
	if err == nil {
		return nil
	}
	refused, isRefused := errors.AsType[*jetstream.APIError](err)
	late, isLate := errors.AsType[*deliver.DeadlineError](err)
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return &deliver.RefusedError{Err: fmt.Errorf("it is larger than the server's max_payload of %d bytes", c.nc.MaxPayload())}
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		c.hasStream.Store(false) // the next Send looks for streams again
		err = fmt.Errorf("no stream takes %s", subject)
		if c.hasAll.Load() {
			return &deliver.DownError{Err: err}
		}
		return err
	case isLate:
		return &deliver.DownError{Err: fmt.Errorf("not stored within %s", late.After)}
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected):
		<-c.alive.Done()
		return &deliver.DownError{Err: context.Cause(c.alive)}
	case isRefused && slices.Contains(tooLarge, refused.ErrorCode):
		return &deliver.RefusedError{Err: fmt.Errorf("the stream refuses it: %s", refused.Description)}
	case isRefused && !strings.Contains(refused.Description, "per subject"):
		return &deliver.DownError{Err: fmt.Errorf("the stream does not take it: %s", refused.Description)}
	}
	return err
}

// tooLarge lists the error codes for a message that is too large, and for a header that is. The latter has no name in package
// jetstream.
var tooLarge = []jetstream.ErrorCode{jetstream.JSErrCodeStreamMessageExceedsMaximum, 10097}
