package recording

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"github.com/tidwall/gjson"
)

// segment is a segment file that is being read.
type segment struct {
	file // without an index, it is being written or incomplete
	data []byte
	// unchecked has the lines after the last checksum, and is set by lines. They may be wrong.
	unchecked string
}

// damage is an unreadable part of a segment.
type damage struct {
	path   string
	reason string
}

func (d damage) Error() string { return filepath.Base(d.path) + ": " + d.reason }

// peekBytes is larger than any usual header, and firstPeekBytes is larger than most headers.
const peekBytes, firstPeekBytes = 256 << 10, 16 << 10

// peek reads the start of a segment and its index, unless the Store has provided them already.
func peek(ctx context.Context, f file) (*segment, error) {
	if f.head == nil {
		var failed [3]error
		f.head, failed[0] = f.read(ctx, 0, min(f.size, firstPeekBytes))
		if failed[0] == nil && f.size > firstPeekBytes && !hasHeader(f.head) {
			f.head, failed[0] = f.read(ctx, 0, min(f.size, peekBytes))
		}
		end, err := f.read(ctx, max(f.size-8, 0), f.size)
		size := int64(indexEnd)
		if len(end) == 8 {
			size += int64(binary.LittleEndian.Uint32(end))
		}
		if failed[1] = err; len(end) == 8 && string(end[4:]) == trailer && size <= int64(indexEnd)+maxIndexBytes {
			f.tail, failed[2] = f.read(ctx, max(f.size-size, 0), f.size)
		}
		if err := cmp.Or(failed[:]...); err != nil {
			return nil, err
		}
	}
	return segmentOf(f, f.head, lastIndex(f.tail))
}

// hasHeader reports whether head includes the whole header of a segment.
func hasHeader(head []byte) bool {
	if len(head) == 0 {
		return false
	}
	_, rest := nextPart(head, true)
	return frameSize(rest) > 0
}

// load reads a segment file.
func load(ctx context.Context, f file) (*segment, error) {
	if f.size > MaxSegmentBytes {
		return nil, &damage{f.path, fmt.Sprintf("it is larger than %d MiB", MaxSegmentBytes>>20)}
	}
	data, err := f.read(ctx, 0, -1)
	if err != nil {
		return nil, err
	}
	return segmentOf(f, data, lastIndex(data))
}

func isDamage(err error) bool { return errors.As(err, new(*damage)) }

// isGone reports whether err means that the segment file does not exist any more.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// segmentOf returns the segment that begins with data. The error is a *damage if data is no segment.
func segmentOf(f file, data []byte, index *index) (*segment, error) {
	s := &segment{file: f, data: data}
	s.index = index
	if len(data) > 0 {
		var version int
		p, _ := nextPart(data, true)
		_, err := fmt.Sscanf(string(p.bytes), preamble+"%d", &version)
		switch {
		case p.kind != partSkippable || err != nil:
		case version > FormatVersion:
			return nil, &damage{f.path, fmt.Sprintf("it was written by a newer dwatch, in format %d, and this one knows %d", version, FormatVersion)}
		default:
			return s, nil
		}
	}
	if len(data) == 0 {
		return nil, &damage{f.path, "it is empty"}
	}
	return nil, &damage{f.path, "it is not a dwatch recording"}
}

// lastIndex returns the index at the end of a segment, or nil if there is none.
func lastIndex(data []byte) *index {
	if len(data) < indexEnd {
		return nil
	}
	size := int64(binary.LittleEndian.Uint32(data[len(data)-8:])) + int64(indexEnd)
	if size > int64(len(data)) {
		return nil
	}
	return parseIndex(data[int64(len(data))-size:])
}

// lines calls take for each verified line in order. In damaged and incomplete frames, these are the lines up to the last
// valid checksum. It calls lost with the reason for each unreadable part. It returns errors of take and frameEnd. The memory
// of lines is reused after frameEnd.
func (s *segment) lines(u *unpacker, take func(text string) error, frameEnd func() error, lost func(why string)) error {
	damagedParts, unverified := 0, 0
	isHeader := false
	for data := s.data; len(data) > 0; {
		isFirst := len(data) == len(s.data)
		var p part
		p, data = nextPart(data, s.index != nil)
		switch {
		case p.kind == partSkippable && isFirst:
			isHeader = true
			continue
		case p.kind == partSkippable && len(data) == 0 && s.index != nil:
			continue
		case p.kind == partSkippable, p.kind == partDamaged:
			lost(fmt.Sprintf("%d bytes are damaged", len(p.bytes)))
			if damagedParts++; damagedParts > maxDamagedParts {
				return nil
			}
			continue
		}
		before, verified := u.decompressed, 0
		rest, damage, err := u.lines(p, func(lines []byte) error {
			verified += len(lines)
			return cmp.Or(takeLines(lines, take), frameEnd())
		})
		if err != nil {
			return err
		}
		if p.kind == partTruncated {
			s.unchecked = string(rest)
			damage = cmp.Or(damage, checkHidden(p.bytes, isHeader), checkUnsummed(s.unchecked))
		}
		if damage != nil {
			lost("a part is damaged: " + damage.Error())
			unverified += u.decompressed - before - verified
			damagedParts++
		}
		if exceedsLimit(damage) || unverified > maxUnverifiedBytes || damagedParts > maxDamagedParts {
			return nil
		}
		isHeader = false
	}
	return nil
}

var errUnsummed = errors.New("lines have no checksum")

// checkUnsummed returns an error if more lines follow the last checksum than a Recorder writes without one. In that case
// the type of a CHECKED line is damaged.
func checkUnsummed(lines string) error {
	var first time.Time
	for one := range strings.Lines(lines) {
		at, err := time.Parse(time.RFC3339, gjson.Get(one, "time").Str)
		if first.IsZero() {
			first = at
		}
		if err != nil || !gjson.Valid(one) || at.Sub(first) > maxSilence {
			return errUnsummed
		}
	}
	return nil
}

// takeLines calls take for each line.
func takeLines(text []byte, take func(string) error) error {
	all := unsafe.String(unsafe.SliceData(text), len(text)) // text does not change before the next frame
	for len(all) > 0 {
		one, rest, isWhole := strings.Cut(all, "\n")
		if !isWhole {
			return nil
		}
		if err := take(one); err != nil {
			return err
		}
		all = rest
	}
	return nil
}

const checkedBegin = lineStart + string(checkedLine) + `",`

var errSum = errors.New("a checksum does not match the lines before it")

// sumChecker verifies the checksums among the lines of a frame while the frame is being read.
type sumChecker struct {
	sum     uint32
	at      int   // offset of the first line that has not been examined
	scanned int   // offset up to which no line ends after at
	err     error // set after the first wrong checksum, or errLine after the first text that is not a line
}

// verifiedBytes returns the length of the part of text that the checksums in it verify. In the next call, text must be the
// result of consume with further bytes appended.
func (s *sumChecker) verifiedBytes(text []byte) (sure int) {
	all := unsafe.String(unsafe.SliceData(text), len(text))
	for s.err == nil {
		if one := all[s.at:min(s.at+len(lineStart), len(all))]; !strings.HasPrefix(lineStart, one) {
			s.err = errLine
			break
		}
		end := strings.IndexByte(all[s.scanned:], '\n')
		if end < 0 {
			s.scanned = len(all)
			break
		}
		one, next := all[s.at:s.scanned+end], s.scanned+end+1
		s.scanned = next
		if strings.HasPrefix(one, checkedBegin) {
			if !gjson.Valid(one) || uint32(gjson.Get(one, "sum").Uint()) != s.sum {
				s.err = errSum
				break
			}
			sure = next
		}
		s.sum = crc32.Update(s.sum, crcTable, text[s.at:next])
		s.at = next
	}
	return sure
}

// consume removes the verified bytes from text.
func (s *sumChecker) consume(text []byte, sure int) []byte {
	s.at, s.scanned = max(s.at-sure, 0), max(s.scanned-sure, 0)
	if sure == 0 {
		return text
	}
	return append(text[:0], text[sure:]...)
}

var crcTable = crc32.MakeTable(crc32.Castagnoli)
