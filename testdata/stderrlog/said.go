// Package stderrlog reads what dwatch says on stderr: of a run that goes on each line begins with the time, where
// that is no terminal. Tests of what is said leave it out by this.
package stderrlog

import (
	"bytes"
	"io"
	"regexp"
)

var stamp = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d `)

// Undated is text without the times.
func StripTimes(text string) string { return stamp.ReplaceAllString(text, "") }

// Copy copies lines without the times to w, each when it is whole, until r ends.
func CopyWithoutTimes(w io.Writer, r io.Reader) error {
	var rest []byte
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		rest = append(rest, buffer[:n]...)
		whole := bytes.LastIndexByte(rest, '\n') + 1
		if err != nil {
			whole = len(rest)
		}
		if _, failed := io.WriteString(w, StripTimes(string(rest[:whole]))); failed != nil {
			return failed
		}
		rest = rest[whole:]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
