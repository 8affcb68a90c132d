//go:build !kafka

package cli

import (
	"errors"

	"dwatch/output/deliver/kafka"
)

// newKafka: without the tag there is no Kafka, by which all else would start later.
func newKafka(kafka.Options) (remoteReceiver, error) {
	return nil, errors.New("this dwatch is built without Kafka: those of a release have it, and what go build -tags kafka makes")
}
