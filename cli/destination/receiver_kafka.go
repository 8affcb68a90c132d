//go:build kafka

package destination

import (
	"dwatch/output/deliver/kafka"
	"dwatch/output/deliver/kafka/producer"
)

func newKafka(o kafka.Options) (remote, error) { return producer.New(o) }
