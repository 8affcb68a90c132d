package main

import (
	"bytes"
	"io"
	"time"
)

// source is the reading end of a pipe.
type source interface {
	io.Reader
	SetReadDeadline(time.Time) error
}

// lineReader splits its input into lines and records when each line arrived. It is cheap: it makes large
// reads, and only copies a line that is split between two reads. After an error such as a missed deadline,
// reading can continue.
type lineReader struct {
	from source
	// isEvent reports whether a line is an event of an object.
	isEvent func(line []byte) bool
	buf     []byte
	line    int // start of the next line in buf
	seen    int // buf contains no line break between line and seen
	end     int // end of the data in buf

	at    time.Time // time of the last read, which completed the latest line
	taken int64     // number of bytes in all returned lines
}

// newLineReader returns a reader for lines with JSON events.
func newLineReader(from source) *lineReader {
	return &lineReader{from: from, isEvent: jsonLines.isEvent, buf: make([]byte, pipeSize)}
}

// next returns the next line including its line break. It is valid until the next call. The error is
// os.ErrDeadlineExceeded if no data arrives within the timeout. At the end it is io.EOF, and an incomplete line is dropped.
func (l *lineReader) next(timeout time.Duration) ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.seen:l.end], '\n'); i >= 0 {
			line := l.buf[l.line : l.seen+i+1]
			l.line, l.seen = l.seen+i+1, l.seen+i+1
			l.taken += int64(len(line))
			return line, nil
		}
		l.seen = l.end
		l.makeRoom()
		if err := l.from.SetReadDeadline(time.Now().Add(timeout)); err != nil {
			return nil, err
		}
		n, err := l.from.Read(l.buf[l.end:])
		l.at = time.Now()
		l.end += n
		if n == 0 && err != nil {
			return nil, err
		}
	}
}

// makeRoom moves the incomplete line to the start of buf, and doubles buf if the line fills more than half of it.
func (l *lineReader) makeRoom() {
	begun := l.end - l.line
	to := l.buf
	if begun > len(to)/2 {
		to = make([]byte, 2*len(to))
	}
	copy(to, l.buf[l.line:l.end])
	l.buf, l.line, l.seen, l.end = to, 0, begun, begun
}

// follow reads the given number of events and returns how many it has read. It calls see for each event unless see is nil.
func (l *lineReader) follow(events int, timeout time.Duration, see func(line []byte)) (int, error) {
	for got := 0; got < events; {
		line, err := l.next(timeout)
		if err != nil {
			return got, err
		}
		if !l.isEvent(line) {
			continue
		}
		got++
		if see != nil {
			see(line)
		}
	}
	return events, nil
}
