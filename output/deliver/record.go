package deliver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A record is a message in a Store: a byte that says how it is written, its times, its texts, each
// behind its length, and its body, compressed and with a checksum.

const (
	recordPlain   = 1
	recordInitial = 2 // as recordPlain, of an object that existed at the start
	recordCluster = 2 // is added to either where two texts say more of the cluster
)

var errRecord = errors.New("the record of an event is damaged")

// codec writes and reads records. It needs little memory: bodies are small, and each is by itself.
type codec struct {
	compressor   *zstd.Encoder
	decompressor *zstd.Decoder
	record       []byte // the last one that was written
}

func newCodec() *codec {
	e, encoderErr := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(256<<10))
	d, decoderErr := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err := errors.Join(encoderErr, decoderErr); err != nil {
		panic(err) // an option is wrong
	}
	return &codec{compressor: e, decompressor: d}
}

// texts are those of a message that a record has.
func (m *Message) texts(withCluster bool) []*string {
	all := []*string{
		(*string)(&m.Type), &m.Resource.Group, &m.Resource.Version, &m.Resource.Resource,
		&m.APIVersion, &m.Kind, &m.Namespace, &m.Name, (*string)(&m.UID), &m.ResourceVersion, &m.Subject,
	}
	if withCluster {
		all = append(all, &m.Cluster, &m.Source)
	}
	return all
}

// encode returns a message as a record. It is called from one goroutine.
func (c *codec) encode(m *Message) []byte {
	record := append(c.record[:0], recordPlain)
	if m.initial {
		record[0] = recordInitial
	}
	withCluster := m.Cluster != ""
	if withCluster {
		record[0] += recordCluster
	}
	record = binary.AppendVarint(record, m.Time.UnixNano())
	record = binary.AppendVarint(record, m.queued.UnixNano())
	for _, text := range m.texts(withCluster) {
		record = binary.AppendUvarint(record, uint64(len(*text)))
		record = append(record, *text...)
	}
	c.record = c.compressor.EncodeAll(m.Body, record)
	return bytes.Clone(c.record) // and no larger than it is
}

// decodeHead returns the message of a record, but for its body: that is in rest.
func decodeHead(record []byte) (m *Message, rest []byte, err error) {
	if len(record) == 0 || record[0] < recordPlain || record[0] > recordInitial+recordCluster {
		return nil, nil, errRecord
	}
	kind, withCluster := record[0], record[0] > recordInitial
	if withCluster {
		kind -= recordCluster
	}
	m, rest = &Message{initial: kind == recordInitial}, record[1:]
	for _, at := range []*time.Time{&m.Time, &m.queued} {
		nanos, n := binary.Varint(rest)
		if n <= 0 {
			return nil, nil, errRecord
		}
		*at, rest = time.Unix(0, nanos), rest[n:]
	}
	for _, text := range m.texts(withCluster) {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return nil, nil, errRecord
		}
		rest = rest[n:]
		*text, rest = string(rest[:length]), rest[length:]
	}
	m.ID = idOf(m.Cluster, m.Resource.GroupResource(), &m.Identity, m.Type)
	return m, rest, nil
}

func (c *codec) decode(record []byte) (*Message, error) {
	m, rest, err := decodeHead(record)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 { // which would be an empty body
		return nil, errRecord
	}
	if m.Body, err = c.decompressor.DecodeAll(rest, nil); err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return m, nil
}
