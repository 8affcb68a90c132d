package producer

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"dwatch/output/deliver"
	"dwatch/output/deliver/cloudevent"
)

// record returns a message as a record in the binary mode of the Kafka binding of CloudEvents. The record has no time, so the client
// sets the time of sending. With the time of the event, a topic with limited retention could remove a late record at once.
func (r *Receiver) record(m *deliver.Message) *kgo.Record {
	e := cloudevent.New(m, r.source)
	key := m.ObjectID()
	e.SetExtension("partitionkey", cloudevent.ToValidUTF8(key))
	headers := []kgo.RecordHeader{{Key: "content-type", Value: []byte(e.DataContentType())}}
	cloudevent.EachAttribute(e, func(name, value string) {
		headers = append(headers, kgo.RecordHeader{Key: "ce_" + name, Value: []byte(value)})
	})
	return &kgo.Record{Key: []byte(key), Value: m.Body, Headers: headers}
}

// tombstone returns the record that makes a compacted topic forget an object. It is no event and has no headers.
func tombstone(m *deliver.Message) *kgo.Record {
	return &kgo.Record{Key: []byte(m.ObjectID())}
}

// sizeOf returns the approximate size of a record. It is never 0.
func sizeOf(r *kgo.Record) int64 {
	size := len(r.Key) + len(r.Value) + 1
	for _, h := range r.Headers {
		size += len(h.Key) + len(h.Value)
	}
	return int64(size)
}
