// Package producer delivers events to a topic of Kafka, or of what speaks its protocol.
//
// A [Receiver] produces each message as one record, whose key is the object: so all of an object are in one partition, in
// their order, and a compacted topic has the last state of each. A deletion is two records, the event and then a tombstone. A
// message is delivered when all replicas in sync have its records.
//
// The client repeats by itself what may not have arrived, with the numbers by which the broker drops what comes twice. So a
// record that a try of the Queue has not seen the end of is left on its way, and the next try waits for the same one: one run
// stores it once, unless the session of the client ends (a broker that does not know it any more, a topic made anew).
package producer
