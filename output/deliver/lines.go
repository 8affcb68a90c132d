package deliver

import "bytes"

// longestLine is how much of what a program prints is one line.
const longestLine = 8 << 10

// lines cuts what is written to it into lines. It is used from one goroutine.
type lines struct {
	take func(line []byte) // gets each, without its end; it does not keep it
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

// end takes what is left.
func (l *lines) end() {
	if len(l.rest) > 0 {
		l.take(l.rest)
		l.rest = nil
	}
}
