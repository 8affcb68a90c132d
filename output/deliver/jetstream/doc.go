// Package jetstream delivers events to a stream of a NATS server.
//
// A [Receiver] publishes each message with its own subject, and with its ID as that of
// the message, by which the server drops what comes again within the stream's duplicate
// window. A message is delivered when the server has said that it is stored.
//
// Nothing is sent behind the Queue's back: the client's reconnecting, buffer and repeats are off.
// When something is wrong with the one connection, it is cut off, with what was not sent, and all
// that waits for an answer fails; the next Send makes another one. So what Send has given up can't
// overtake, or be overtaken by, what the Queue sends later: but for what has reached the server
// already, a repeat of which the server drops.
package jetstream
