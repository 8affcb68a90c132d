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

// notConnected says why there is no connection. dialed is the error of the socket.
func (r *Receiver) notConnected(dialed, err error) error {
	switch {
	case dialed != nil:
		if cause, ok := errors.AsType[*net.OpError](dialed); ok {
			dialed = cause.Err
		}
		return &deliver.DownError{Err: fmt.Errorf("no connection: %w", dialed)}
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		return fmt.Errorf("%s does not let dwatch in: %w; --nats-creds, --nats-nkey or --nats-login say who it is", r.Server, err)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("%s does not speak TLS: %w", r.Server, err)
	case errors.Is(err, nats.ErrTLS) && r.Cert == "": // the server hung up, which is all that it says
		return fmt.Errorf("TLS with %s: %w; it may want a certificate: --to-cert", r.Server, err)
	case isTLS(err):
		return fmt.Errorf("TLS with %s: %w", r.Server, err)
	}
	return &deliver.DownError{Err: fmt.Errorf("no connection: %w", err)}
}

// isTLS reports whether an error is of a certificate, or of the handshake: of the many types
// that these have, each has one of two words in its text.
func isTLS(err error) bool {
	return errors.Is(err, nats.ErrTLS) || strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "x509: ")
}

// explain says what an error of a message means for the Queue.
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
		c.hasStream.Store(false) // look again
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

// tooLarge are the codes for a message, and for its header, for which jetstream has no name.
var tooLarge = []jetstream.ErrorCode{jetstream.JSErrCodeStreamMessageExceedsMaximum, 10097}
