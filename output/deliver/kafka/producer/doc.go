// Package producer delivers events to a topic of Kafka or of another broker with the same protocol.
//
// A [Receiver] produces each message as one record, whose key identifies the object. Therefore all records of an object are in one
// partition, in order, and a compacted topic retains the last state of each object. A deletion is two records: the event and then a
// tombstone. A message is delivered when all in-sync replicas have its records.
//
// The client is an idempotent producer: it retries records itself, and the broker drops duplicates by their sequence numbers. If an
// attempt of the Queue ends before the result of its record is known, the record may stay in flight, and the next attempt waits for
// the same record. Therefore one run stores it once, unless the client's session ends, for example because the broker has forgotten
// the producer or the topic was created again.
package producer
