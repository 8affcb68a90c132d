package producer

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"dwatch/output/deliver"
	"dwatch/output/deliver/cloudevent"
)

// record is a message as the binary mode of the Kafka binding of CloudEvents has it. Its time is when it is sent, or what is
// sent late would be gone at once where a topic keeps records for a time.
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

// tombstone has a compacted topic forget an object. It is no event, and has no headers.
func tombstone(m *deliver.Message) *kgo.Record {
	return &kgo.Record{Key: []byte(m.ObjectID())}
}

// sizeOf is how many bytes a record takes, about as the client counts them; never 0.
func sizeOf(r *kgo.Record) int64 {
	size := len(r.Key) + len(r.Value) + 1
	for _, h := range r.Headers {
		size += len(h.Key) + len(h.Value)
	}
	return int64(size)
}
