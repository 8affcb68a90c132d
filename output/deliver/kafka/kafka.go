// Package kafka says where events go in Kafka, and as whom. What sends them there is in its package producer, which a build has
// by the tag kafka: it makes dwatch larger, and each of its starts slower.
package kafka

import (
	"errors"
	"strings"
	"time"

	"dwatch/output/deliver"
	"dwatch/output/deliver/secret"
)

// Options says where to produce, and as whom.
type Options struct {
	Brokers   []string // HOST:PORT each, at least one; they lead to all others
	Topic     string   // CheckTopic has found it good
	UseTLS    bool     // by TLS
	Login     secret.Source
	Mechanism string // of SASL, one of Mechanisms; empty: the strongest that a broker knows
	// NoPlain: others could read a password on the way.
	NoPlain      bool
	PingInterval time.Duration // after it a broker that says nothing is asked whether all is well; 0: five seconds
	deliver.TLS
}

// Plain is the mechanism that shows a password to whoever listens.
const Plain = "plain"

// Mechanisms are those of SASL, the strongest first.
func Mechanisms() []string { return []string{"scram-sha-512", "scram-sha-256", Plain} }

// longestTopic is how long the name of a topic may be.
const longestTopic = 249

// CheckTopic finds what no topic can be called.
func CheckTopic(topic string) error {
	isOther := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c)
	}
	switch {
	case topic == "":
		return errors.New("there is none")
	case strings.ContainsFunc(topic, isOther):
		return errors.New("it takes letters, digits, dots, _ and -")
	case topic == ".", topic == "..":
		return errors.New("it is no name")
	case len(topic) > longestTopic:
		return errors.New("it is too long")
	}
	return nil
}
