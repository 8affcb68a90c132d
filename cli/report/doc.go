// Package report says on stderr what goes on: what is watched, that a connection
// is lost, that a right is missing. What becomes of the watch goes to a format for
// people instead, where there is one. It also knows how the watch is, for who asks.
package report
