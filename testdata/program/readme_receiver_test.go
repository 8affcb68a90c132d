//go:build linux

package program

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"dwatch/testdata/testenv"
)

// readmeReceivers are the receivers of events that an example has started. The zero value has none.
type readmeReceivers struct {
	webhook   *hook
	addresses []string // alternately the address that an example shows and the real address
}

// real replaces the addresses that an example shows by the real ones.
func (r *readmeReceivers) real(text string) string {
	return strings.NewReplacer(r.addresses...).Replace(text)
}

// shown replaces the real addresses by those that an example shows.
func (r *readmeReceivers) shown(text string) string {
	for i := 0; i < len(r.addresses); i += 2 {
		text = strings.ReplaceAll(text, r.addresses[i+1], r.addresses[i])
	}
	return text
}

// startWebhook starts a receiver that writes its requests to the file "requests" in dir.
func (r *readmeReceivers) startWebhook(dir, address string, cleanup func(func())) error {
	h := &hook{address: "127.0.0.1:0", code: http.StatusOK, never: make(chan struct{})}
	h.handler = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		h.receive(w, request)
		_ = os.WriteFile(filepath.Join(dir, "requests"), []byte(h.log.String()), 0o600) // the example fails without the file
	})
	if err := h.start(); err != nil {
		return err
	}
	cleanup(h.stop)
	r.webhook, r.addresses = h, append(r.addresses, address, h.address)
	return nil
}

func (r *readmeReceivers) respond(code string) (err error) {
	r.webhook.mu.Lock()
	defer r.webhook.mu.Unlock()
	r.webhook.code, err = strconv.Atoi(code)
	return err
}

// received waits until the requests match a pattern.
func (r *readmeReceivers) received(pattern string) error {
	compiled, err := regexp.Compile("(?m)" + pattern)
	if err == nil && !r.webhook.log.await(compiled, 1, r.webhook.never) {
		err = fmt.Errorf("no request matches:\n%s", r.webhook.log.String())
	}
	return err
}

func (r *readmeReceivers) startNATS(dir, address string, cleanup func(func())) error {
	server, err := testenv.StartNATS(dir)
	if err != nil {
		return errors.Join(err, errors.New("make bin/nats builds the server"))
	}
	cleanup(server.Kill)
	r.addresses = append(r.addresses, address, server.Address)
	return nil
}

func (r *readmeReceivers) startKafka(dir, address string, cleanup func(func())) error {
	broker, err := testenv.StartKafka(dir, "--topics", kafkaTopic+":1")
	if err != nil {
		return errors.Join(err, errors.New("make bin/kafka builds the broker"))
	}
	cleanup(broker.Kill)
	r.addresses = append(r.addresses, address, broker.Address)
	return nil
}
