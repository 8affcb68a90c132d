package jetstream

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

const (
	writeTimeout = 10 * time.Second // for a server that does not read
	pings        = 2                // maximum number of unanswered pings
)

// connectOptions returns the options for a connection. It reads the files with credentials.
func connectOptions(o Options) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name("dwatch"),
		nats.NoReconnect(),
		nats.SkipHostLookup(), // the dialer does it
		nats.Timeout(openTimeout),
		nats.FlusherTimeout(writeTimeout),
		nats.PingInterval(cmp.Or(o.SilenceTimeout, 15*time.Second) / (pings + 1)),
		nats.MaxPingsOutstanding(pings),
	}
	if o.CA != "" {
		options = append(options, nats.RootCAs(o.CA))
	}
	if o.Cert != "" {
		options = append(options, nats.ClientCert(o.Cert, o.Key))
	}
	if o.Credentials != "" {
		if err := checkCredentials(o.Credentials); err != nil {
			return nil, err
		}
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	if o.NKey != "" {
		key, err := nats.NkeyOptionFromSeed(o.NKey)
		if err != nil {
			return nil, fmt.Errorf("%s has no NKey seed of a user: %w", o.NKey, bare(err))
		}
		options = append(options, key)
	}
	if o.Login != "" {
		login, err := loginOption(o.Login)
		if err != nil {
			return nil, err
		}
		options = append(options, login)
	}
	return options, nil
}

// check returns an error if a file can't be read or is invalid.
func (o Options) check() error {
	options, err := connectOptions(o)
	var applied nats.Options
	for _, apply := range options {
		err = cmp.Or(err, apply(&applied))
	}
	return bare(err)
}

// checkCredentials returns an error if a file does not contain the JWT and the key of a user.
func checkCredentials(file string) error {
	text, err := os.ReadFile(file)
	if err == nil {
		_, err = nkeys.ParseDecoratedJWT(text)
	}
	if err == nil {
		_, err = nkeys.ParseDecoratedUserNKey(text)
	}
	if err != nil {
		return fmt.Errorf("%s has no credentials of a user: %w", file, bare(err))
	}
	return nil
}

// loginOption returns an option that logs in with the content of a file: USER:PASSWORD or a token.
func loginOption(file string) (nats.Option, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	user, password, _ := strings.Cut(strings.TrimSpace(string(text)), ":")
	switch {
	case user == "":
		return nil, fmt.Errorf("%s has neither USER:PASSWORD nor a token", file)
	case password == "":
		return nats.Token(user), nil
	}
	return nats.UserInfo(user, password), nil
}

// bare unwraps an error of the client whose text begins with "nats: ".
func bare(err error) error {
	for err != nil && errors.Unwrap(err) != nil && strings.HasPrefix(err.Error(), "nats: ") {
		err = errors.Unwrap(err)
	}
	return err
}
