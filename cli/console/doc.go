// Package console is what dwatch reads and writes outside the cluster: stdout for data, stderr for messages,
// and the signal that asks for the status of a run.
package console
