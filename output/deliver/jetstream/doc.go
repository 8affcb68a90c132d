// Package jetstream delivers events to a stream of a NATS server.
//
// A [Receiver] publishes each message with the subject of its object. The header Nats-Msg-Id contains the ID of the message, by which
// the server drops repetitions within the duplicate window of the stream. A message is delivered when the server confirms that it is
// stored.
//
// The Queue alone decides what is sent: reconnecting and retries of the client are off. If an error affects the connection, the
// Receiver closes it, discards unsent data, and fails all messages that wait for a confirmation. The next Send opens a new connection.
// Therefore a message whose Send has failed can't be stored after a later one, unless it had already reached the server. The server
// then drops the repetition.
package jetstream
