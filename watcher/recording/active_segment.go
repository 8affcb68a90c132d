package recording

import "time"

const (
	// Without Options.MaxSize, a segment ends when it has grown by segmentBytes, or by twice the size of the objects at its
	// start if that is more, or after segmentTime. It never grows by more than a quarter of MaxSegmentBytes.
	segmentBytes = 4 << 20
	segmentTime  = 24 * time.Hour
	// segmentRaw and segmentTimes limit how much a reader must read to find the objects at a time: the uncompressed size
	// of the lines after the start, in bytes or as a multiple of the size of the objects at the start.
	segmentRaw   = 96 << 20
	segmentTimes = 4
	// segmentShare is the number of segments that Options.MaxSize should have room for. There are fewer if the objects at the
	// start of a segment are large.
	segmentShare = 8
)

// activeSegment is the segment that a run writes, and what decides when it ends.
type activeSegment struct {
	*segmentWriter
	start             time.Time
	latestAtStart     time.Time // the time of the latest line when the segment started
	snapshotBytes     int64     // size of the objects at the start of the segment
	snapshotLineBytes int64     // the same before compression
}

// endSnapshot notes that all lines so far belong to the objects at the start, and returns their size.
func (s *activeSegment) endSnapshot() int64 {
	s.snapshotBytes, s.snapshotLineBytes = s.size, s.lineBytes
	return s.snapshotBytes
}

// isDue reports whether the segment must end because it is large or old, or because the clock was put back. latest is the
// time of the latest line in the recording, and maxSize is Options.MaxSize.
func (s *activeSegment) isDue(now, latest time.Time, maxSize int64) bool {
	isBack := latest.Sub(now) > clockSlack && latest.After(s.latestAtStart)
	return s.isLarge(maxSize) || isBack || now.Sub(s.start) >= segmentTime
}

func (s *activeSegment) isLarge(maxSize int64) bool {
	limit := min(max(segmentBytes, 2*s.snapshotBytes), MaxSegmentBytes/4)
	if maxSize > 0 {
		limit = min(limit, max(maxSize/segmentShare, s.snapshotBytes, 64<<10))
	}
	return s.size-s.snapshotBytes >= limit || s.lineBytes-s.snapshotLineBytes >= max(segmentRaw, segmentTimes*s.snapshotLineBytes)
}
