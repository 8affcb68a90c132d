// Package stderrlog removes the timestamps from dwatch's stderr. A run that watches begins each line with the time if
// stderr is not a terminal. Tests compare the lines without it.
package stderrlog

import (
	"bytes"
	"io"
	"regexp"
)

var stamp = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d `)

// StripTimes returns text without the timestamps.
func StripTimes(text string) string { return stamp.ReplaceAllString(text, "") }

// CopyWithoutTimes copies r to w without the timestamps until r ends. It writes each line as soon as it is complete.
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
