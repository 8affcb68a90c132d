// Package fail says what an error means to people: in one line on stderr, and in an exit code.
//
// An error of another package that has more to say than its text has a method Explain() string.
package fail
