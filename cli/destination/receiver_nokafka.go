//go:build !kafka

package destination

import (
	"errors"

	"dwatch/output/deliver/kafka"
)

// newKafka fails: the Kafka client would slow down the start of every other command, so it is linked only with the tag kafka.
func newKafka(kafka.Options) (remote, error) {
	return nil, errors.New("this dwatch is built without Kafka: use a release, or build it with go build -tags kafka")
}
