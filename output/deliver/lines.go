package deliver

import "bytes"

// longestLine is the maximum length of a line. Longer lines are split.
const longestLine = 8 << 10

// lines is a writer that calls take for each line. It must not be used from several goroutines.
type lines struct {
	take func(line []byte) // gets the line without its line feed, and must not retain it
	rest []byte
}

// Write implements io.Writer.
func (l *lines) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 && len(l.rest) < longestLine {
			return len(text), nil
		}
		if i < 0 || i > longestLine {
			i = longestLine - 1
			l.take(l.rest[:i+1])
		} else {
			l.take(l.rest[:i])
		}
		l.rest = l.rest[i+1:]
	}
}

// end calls take with an incomplete last line.
func (l *lines) end() {
	if len(l.rest) > 0 {
		l.take(l.rest)
		l.rest = nil
	}
}
