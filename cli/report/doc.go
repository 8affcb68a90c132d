// Package report says on stderr what goes on: what is watched, that a connection
// is lost, that a right is missing.
package report
