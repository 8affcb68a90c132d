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
	// writeTimeout is how long the client may be held up by a connection that takes
	// nothing.
	writeTimeout = 10 * time.Second
	// pings are how many a server may leave unanswered.
	pings = 2
)

// connectOptions are the same for each connection. The errors are of the files.
func connectOptions(o Options) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name("dwatch"),
		nats.NoReconnect(),
		nats.SkipHostLookup(), // the dialer does it
		nats.Timeout(openTimeout),
		nats.FlusherTimeout(writeTimeout),
		nats.PingInterval(cmp.Or(o.Silence, 15*time.Second) / (pings + 1)),
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
			return nil, fmt.Errorf("%s has no seed of a user's NKey: %w", o.NKey, bare(err))
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
	return options, tryOptions(options)
}

// tryOptions finds what is wrong with the files of certificates.
func tryOptions(options []nats.Option) error {
	var o nats.Options
	for _, apply := range options {
		if err := apply(&o); err != nil {
			return bare(err)
		}
	}
	return nil
}

// checkCredentials finds out whether a file has a user's token and key.
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

// loginOption logs in with what is in a file: USER:PASSWORD, or a token.
func loginOption(file string) (nats.Option, error) {
	_, password, err := readLogin(file)
	switch {
	case err != nil:
		return nil, err
	case password == "":
		return nats.TokenHandler(func() string {
			token, _, _ := readLogin(file) // what is gone is refused by the server
			return token
		}), nil
	}
	return nats.UserInfoHandler(func() (user, password string) {
		user, password, _ = readLogin(file) // as above
		return user, password
	}), nil
}

// readLogin returns the user and the password that are in a file, or a token alone.
func readLogin(file string) (user, password string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", bare(err)
	}
	user, password, _ = strings.Cut(strings.TrimSpace(string(text)), ":")
	if user == "" {
		return "", "", fmt.Errorf("%s has neither USER:PASSWORD nor a token", file)
	}
	return user, password, nil
}

// bare is an error without what the client puts in front of it.
func bare(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil || !strings.HasPrefix(err.Error(), "nats: ") {
			return err
		}
		err = inner
	}
}
