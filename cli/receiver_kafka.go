//go:build kafka

package cli

import (
	"dwatch/output/deliver/kafka"
	"dwatch/output/deliver/kafka/producer"
)

func newKafka(o kafka.Options) (remoteReceiver, error) { return producer.New(o) }
