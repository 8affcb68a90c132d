// Package kafka has the options for delivering events to Kafka. Package producer delivers them. It requires the build tag kafka,
// because it makes dwatch larger and slower to start.
package kafka

import (
	"errors"
	"strings"
	"time"

	"dwatch/output/deliver"
	"dwatch/output/deliver/secret"
)

// Options configures a producer.Receiver.
type Options struct {
	Brokers   []string // HOST:PORT of at least one broker; the client discovers the others
	Topic     string   // must be valid for CheckTopic
	UseTLS    bool
	Login     secret.Source // USER:PASSWORD; if not set, dwatch does not log in
	Mechanism string        // the SASL mechanism, one of Mechanisms; if empty, the strongest one that the broker supports
	// NoPlain excludes Plain unless Mechanism selects it, because the password could be read on the way.
	NoPlain      bool
	PingInterval time.Duration // how long a record may be unanswered before the brokers are checked; zero means 5 seconds
	deliver.TLS
}

// Plain is the SASL mechanism that sends the password itself.
const Plain = "plain"

// Mechanisms returns the supported SASL mechanisms, the strongest first.
func Mechanisms() []string { return []string{"scram-sha-512", "scram-sha-256", Plain} }

// longestTopic is the maximum length of the name of a topic.
const longestTopic = 249

// CheckTopic returns an error if a topic can't have this name.
func CheckTopic(topic string) error {
	isOther := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c)
	}
	switch {
	case topic == "":
		return errors.New("there is none")
	case strings.ContainsFunc(topic, isOther):
		return errors.New("use letters, digits, dots, _ and -")
	case topic == ".", topic == "..":
		return errors.New("it is no name")
	case len(topic) > longestTopic:
		return errors.New("it is too long")
	}
	return nil
}
