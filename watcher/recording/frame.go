package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	zstdMagic = 0xFD2FB528
	skipMagic = 0x184D2A5D // one of the 16 values in the zstd format
)

// part is a frame of a segment, or the damage between two frames.
type part struct {
	bytes []byte
	kind  partKind
}

type partKind uint8

const (
	partFrame     partKind = iota
	partSkippable          // bytes are the content
	partTruncated          // a compressed frame without its end, because it is being written or the process was killed
	partDamaged
)

// nextPart splits the first part off data, which must not be empty. ended means that the segment has an index, and no
// part of it can be truncated.
func nextPart(data []byte, ended bool) (p part, rest []byte) {
	if n := frameSize(data); n > 0 {
		return part{data[:n], partFrame}, data[n:]
	} else if n < 0 && !ended {
		return part{data, partTruncated}, nil
	}
	if magic := magicOf(data); magic == skipMagic && len(data) >= 8 {
		if size := uint64(binary.LittleEndian.Uint32(data[4:])); size+8 <= uint64(len(data)) {
			return part{data[8 : 8+size], partSkippable}, data[8+size:]
		}
	}
	if !ended && isBegin(data) {
		return part{nil, partTruncated}, nil
	}
	// The damage ends at the next magic number.
	at := 1
	for at < len(data) && magicOf(data[at:]) != zstdMagic && magicOf(data[at:]) != skipMagic {
		at++
	}
	return part{data[:at], partDamaged}, data[at:]
}

// isBegin reports whether data may be the start of a frame that is too short to contain lines.
func isBegin(data []byte) bool {
	if len(data) >= 4 {
		return magicOf(data) == skipMagic // of an index
	}
	lines, index := binary.LittleEndian.AppendUint32(nil, zstdMagic), binary.LittleEndian.AppendUint32(nil, skipMagic)
	return bytes.HasPrefix(lines, data) || bytes.HasPrefix(index, data)
}

func magicOf(data []byte) uint32 {
	if len(data) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(data)
}

// frameSize returns the size of the compressed frame at the start of data. It is -1 if the frame is incomplete, and 0 if
// there is none.
func frameSize(data []byte) int {
	size, _ := measure(data)
	return size
}

// measure returns frameSize. For an incomplete frame it also returns the offset of the incomplete block or checksum, or 0
// if no block can be read: the frame header is incomplete, or it states the size of the content. A Recorder never states the
// size in a frame that it writes block by block.
func measure(data []byte) (size, cutAt int) {
	if magicOf(data) != zstdMagic {
		return 0, 0
	}
	var h zstd.Header
	if err := h.Decode(data); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return -1, 0
		}
		return 0, 0
	}
	at := h.HeaderSize
	for last := false; !last; {
		b, whole := blockAt(data, at)
		switch {
		case b.kind == blockReserved || b.size > maxBlock:
			return 0, 0
		case !whole || b.last && h.HasCheckSum && b.end+4 > len(data):
			if h.HasFCS {
				at = 0
			}
			return -1, at
		}
		at, last = b.end, b.last
	}
	if h.HasCheckSum {
		at += 4
	}
	return at, 0
}

// block describes a block of a frame.
type block struct {
	kind, size, end int
	last            bool
}

const (
	blockRaw = iota
	blockRepeated
	blockCompressed
	blockReserved
)

// blockAt returns the block at an offset, and whether data contains it completely.
func blockAt(data []byte, at int) (b block, whole bool) {
	if at+3 > len(data) {
		return b, false
	}
	n := int(data[at]) | int(data[at+1])<<8 | int(data[at+2])<<16
	b = block{kind: n >> 1 & 3, size: n >> 3, last: n&1 == 1}
	if b.end = at + 3 + b.size; b.kind == blockRepeated { // one byte
		b.end = at + 4
	}
	return b, b.end <= len(data)
}

var (
	errHidden = errors.New("blocks after the last readable line can't be located")
	errZeros  = errors.New("it ends with zeros")
)

// checkHidden returns an error if an incomplete frame is damaged rather than incomplete. A block with a wrong size looks
// incomplete and hides the blocks after it. In a frame that is only incomplete, no block after that point ends at the end
// of the file. The header of a segment hides only other frames, because its frame has one line.
func checkHidden(frame []byte, isHeader bool) error {
	_, cutAt := measure(frame)
	rest := frame[min(cutAt, len(frame)):]
	if n := len(frame); n >= 3 && cutAt+2 >= n && frame[n-1]|frame[n-2]|frame[n-3] == 0 {
		return errZeros
	}
	for at := 1; at < len(rest); at++ {
		if magicOf(rest[at:]) == zstdMagic {
			return errHidden
		}
	}
	if !isHeader && endsWithBlock(rest) {
		return errHidden
	}
	return nil
}

// endsWithBlock reports whether a block that begins after the first byte ends exactly at the end of data. By chance, fewer than
// one of 1,000 incomplete frames of 300 bytes look like that.
func endsWithBlock(data []byte) bool {
	for at := 1; at < len(data); at++ {
		b, whole := blockAt(data, at)
		if whole && b.end == len(data) && !b.last && b.size > 0 && b.size <= maxBlock && (b.kind == blockRaw || b.kind == blockCompressed) {
			return true
		}
	}
	return false
}

const maxBlock = 128 << 10

// unpacker decompresses frames, one at a time.
type unpacker struct {
	decoder        *zstd.Decoder
	partialDecoder *zstd.Decoder // for truncated frames, which have no checksum
	buffer         []byte        // for lines
	decompressed   int           // bytes, of all frames
}

// chunkBytes is how much is decompressed at once, to avoid buffering a whole frame.
const chunkBytes = 1 << 20

// unpackers is the pool of unused unpackers. Each has a window of some megabytes.
var unpackers sync.Pool

func newUnpacker() (*unpacker, error) {
	if u, ok := unpackers.Get().(*unpacker); ok {
		return u, nil
	}
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindowBytes)}
	whole, err := zstd.NewReader(nil, options...)
	if err != nil {
		return nil, err
	}
	part, err := zstd.NewReader(nil, append(options, zstd.IgnoreChecksum(true))...)
	return &unpacker{decoder: whole, partialDecoder: part}, err
}

// close makes the unpacker available for reuse. Decoders need not be closed: without a reader, and with a concurrency of
// one, they have no resources other than memory.
func (u *unpacker) close() {
	if cap(u.buffer) > 4*chunkBytes {
		u.buffer = nil
	}
	if u.decoder.Reset(nil) == nil && u.partialDecoder.Reset(nil) == nil {
		unpackers.Put(u)
	}
}

// open returns a reader for the content of a part. For a truncated one, it returns the content of its complete blocks.
func (u *unpacker) open(p part) (io.Reader, error) {
	if p.kind == partFrame {
		return u.decoder, u.decoder.Reset(bytes.NewReader(p.bytes))
	}
	_, cutAt := measure(p.bytes)
	if cutAt == 0 {
		return bytes.NewReader(nil), nil
	}
	return u.partialDecoder, u.partialDecoder.Reset(io.MultiReader(bytes.NewReader(p.bytes[:cutAt]), bytes.NewReader(frameEnd)))
}

// lines calls take for chunks of verified lines of a compressed part: those up to the last checksum, or all lines if the
// frame has a valid checksum. The memory of the chunks is reused. rest has the remaining lines. damage is why they could not
// be verified, or nil if only their checksum has not been written yet. err is the error of take.
func (u *unpacker) lines(p part, take func(lines []byte) error) (rest []byte, damage, err error) {
	from, damage := u.open(p)
	var sums sumChecker
	text := u.buffer[:0]
	total := 0
	for damage == nil {
		text = slices.Grow(text, chunkBytes)
		var n int
		n, damage = from.Read(text[len(text) : len(text)+chunkBytes])
		text = text[:len(text)+n]
		u.decompressed += n
		if total += n; total > maxFrameBytes+maxSumLine { // earlier versions did not count the last sum
			damage = errFrameTooLong
		}
		sure := sums.verifiedBytes(text)
		switch {
		case errors.Is(sums.err, errLine):
			damage = sums.err
		case p.kind == partFrame && damage == io.EOF: // its checksum is right
			sure = len(text)
		case p.kind == partTruncated && sums.err != nil:
			damage = sums.err
		}
		if err := take(text[:sure]); err != nil {
			return nil, nil, err
		}
		if text = sums.consume(text, sure); len(text) > maxUncheckedBytes {
			damage = errLineTooLong
		}
	}
	if u.buffer = text; damage == io.EOF {
		damage = nil
	}
	return text[:bytes.LastIndexByte(text, '\n')+1], damage, nil
}

// frameEnd completes a truncated frame. It is an empty last block and a checksum, which partialDecoder ignores.
var frameEnd = []byte{1, 0, 0, 0, 0, 0, 0}
