package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	zstdMagic = 0xFD2FB528
	skipMagic = 0x184D2A5D // of the 16 that there are
	// maxFrame bounds what a frame may come to: a writer closes it long before.
	maxFrame = 64 << 20
)

// part is what a frame, or the damage between two of them, takes of a segment.
type part struct {
	bytes []byte
	kind  partKind
}

type partKind uint8

const (
	compressed partKind = iota
	skipped             // bytes are the content
	cut                 // a compressed frame without its end, as of a run that goes on or was killed
	damaged
)

// nextPart cuts the first part off data, which is not empty. ended: the segment has its end, so
// that nothing in it can be cut.
func nextPart(data []byte, ended bool) (p part, rest []byte) {
	if n := frameSize(data); n > 0 {
		return part{data[:n], compressed}, data[n:]
	} else if n < 0 && !ended {
		return part{data, cut}, nil
	}
	if magic := magicOf(data); magic == skipMagic && len(data) >= 8 {
		if size := uint64(binary.LittleEndian.Uint32(data[4:])); size+8 <= uint64(len(data)) {
			return part{data[8 : 8+size], skipped}, data[8+size:]
		}
	}
	// What is damaged goes on to what looks like the begin of a frame.
	at := 1
	for at < len(data) && magicOf(data[at:]) != zstdMagic && magicOf(data[at:]) != skipMagic {
		at++
	}
	return part{data[:at], damaged}, data[at:]
}

func magicOf(data []byte) uint32 {
	if len(data) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(data)
}

// frameSize returns how long the compressed frame is with which data begins: -1 if data ends before
// it does, 0 if it is none.
func frameSize(data []byte) int {
	if magicOf(data) != zstdMagic {
		return 0
	}
	var h zstd.Header
	if err := h.Decode(data); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return -1
		}
		return 0
	}
	at, last := h.HeaderSize, false
	for !last {
		if at+3 > len(data) {
			return -1
		}
		block := uint32(data[at]) | uint32(data[at+1])<<8 | uint32(data[at+2])<<16
		kind, size := block>>1&3, int(block>>3)
		switch {
		case kind == 3 || size > maxBlock:
			return 0
		case kind == 1: // one byte, repeated
			size = 1
		}
		last = block&1 == 1
		at += 3 + size
	}
	if h.HasCheckSum {
		at += 4
	}
	if at > len(data) {
		return -1
	}
	return at
}

const maxBlock = 128 << 10

// unpacker decompresses frames, one after the other.
type unpacker struct {
	whole *zstd.Decoder
	text  []byte // used again
}

func newUnpacker() (*unpacker, error) {
	whole, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxFrame))
	return &unpacker{whole: whole}, err
}

func (u *unpacker) close() { u.whole.Close() }

// unpack returns the lines of a compressed part, whose memory is used for the next. Of one that is
// cut these are the whole lines that are there; of a whole one all, and its checksum is right.
func (u *unpacker) unpack(p part) ([]byte, error) {
	var err error
	if p.kind == compressed {
		u.text, err = u.whole.DecodeAll(p.bytes, u.text[:0])
		return u.text, err
	}
	r, err := zstd.NewReader(bytes.NewReader(p.bytes), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxFrame))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var text bytes.Buffer
	_, err = io.Copy(&text, io.LimitReader(r, maxFrame))
	end := bytes.LastIndexByte(text.Bytes(), '\n') + 1
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil {
		return text.Bytes()[:end], nil
	}
	return text.Bytes()[:end], err
}
