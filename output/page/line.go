package page

import "strconv"

const (
	maxSegments = 50
	maxTicks    = 100
)

// line is an object in the course of time: its states, and when it changed. What is too
// much is forgotten from the beginning.
type line struct {
	segments     []segment
	ticks        []int64
	segmentsMore int
	ticksMore    int
}

type segment struct {
	from  int64
	state string
}

// enter notes the state that the object has at a time.
func (l *line) enter(at int64, state string) {
	if n := len(l.segments); n > 0 && l.segments[n-1].state == state {
		return
	}
	if len(l.segments) == maxSegments {
		copy(l.segments, l.segments[1:])
		l.segments = l.segments[:maxSegments-1]
		l.segmentsMore++
	}
	l.segments = append(l.segments, segment{at, state})
}

// tick notes that it changed.
func (l *line) tick(at int64) {
	if len(l.ticks) == maxTicks {
		copy(l.ticks, l.ticks[1:])
		l.ticks = l.ticks[:maxTicks-1]
		l.ticksMore++
	}
	l.ticks = append(l.ticks, at)
}

// appendTo adds it to the members of a row, which is encoded without it.
func (l *line) appendTo(row []byte) []byte {
	row = append(row[:len(row)-1], `,"segments":[`...)
	for i, s := range l.segments {
		if i > 0 {
			row = append(row, ',')
		}
		row = append(strconv.AppendInt(append(row, '['), s.from, 10), `,"`...)
		row = append(append(row, s.state...), `"]`...) // a word of kstatus
	}
	row = append(row, `],"ticks":[`...)
	for i, at := range l.ticks {
		if i > 0 {
			row = append(row, ',')
		}
		row = strconv.AppendInt(row, at, 10)
	}
	row = append(row, ']')
	if l.segmentsMore > 0 {
		row = strconv.AppendInt(append(row, `,"segmentsMore":`...), int64(l.segmentsMore), 10)
	}
	if l.ticksMore > 0 {
		row = strconv.AppendInt(append(row, `,"ticksMore":`...), int64(l.ticksMore), 10)
	}
	return append(row, '}')
}
