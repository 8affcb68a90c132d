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

// lineReader splits what it reads into lines, and knows when each had arrived.
// It costs little: large reads, no copy but of a line cut by the end of a read.
// An error takes nothing away: after a deadline, reading goes on where it was.
type lineReader struct {
	from source
	// isEvent tells whether a line is the event of an object.
	isEvent func(line []byte) bool
	buf     []byte
	line    int // where the next line begins in buf
	seen    int // up to where buf holds no end of that line
	end     int // up to where buf is filled

	at    time.Time // when the read that completed the newest line returned
	taken int64     // bytes of all lines handed out
}

// newLineReader returns a reader of the lines of from, which are JSON.
func newLineReader(from source) *lineReader {
	return &lineReader{from: from, isEvent: jsonLines.isEvent, buf: make([]byte, pipeSize)}
}

// next returns the next line with its end, valid until the next call. It fails
// with os.ErrDeadlineExceeded when nothing comes for as long as patience, and
// with io.EOF at the end, where half a line is worth nothing.
func (l *lineReader) next(patience time.Duration) ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.seen:l.end], '\n'); i >= 0 {
			line := l.buf[l.line : l.seen+i+1]
			l.line, l.seen = l.seen+i+1, l.seen+i+1
			l.taken += int64(len(line))
			return line, nil
		}
		l.seen = l.end
		l.makeRoom()
		if err := l.from.SetReadDeadline(time.Now().Add(patience)); err != nil {
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

// makeRoom makes buf take at least as much again as the begun line.
func (l *lineReader) makeRoom() {
	begun := l.end - l.line
	to := l.buf
	if begun > len(to)/2 {
		to = make([]byte, 2*len(to))
	}
	copy(to, l.buf[l.line:l.end])
	l.buf, l.line, l.seen, l.end = to, 0, begun, begun
}

// follow reads until so many events have come, and returns how many have. It
// calls see, if there is one, for each of them.
func (l *lineReader) follow(events int, patience time.Duration, see func(line []byte)) (int, error) {
	for got := 0; got < events; {
		line, err := l.next(patience)
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
