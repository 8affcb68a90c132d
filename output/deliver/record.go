package deliver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
)

// A record is an encoded message in a Store: a byte with the format, the times, the texts (each after its length) and the compressed
// body with a checksum.

const (
	recordPlain   = 1
	recordInitial = 2 // like recordPlain, for an object that existed at the start
	recordCluster = 2 // is added to either if there are two more texts with the cluster and its source
)

var errRecord = errors.New("the record of an event is damaged")

// codec encodes and decodes records. Its buffers are small, because bodies are small and compressed separately.
type codec struct {
	compressor   *zstd.Encoder
	decompressor *zstd.Decoder
	record       []byte // a buffer
}

func newCodec() *codec {
	e, encoderErr := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(256<<10))
	d, decoderErr := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err := errors.Join(encoderErr, decoderErr); err != nil {
		panic(err) // invalid options
	}
	return &codec{compressor: e, decompressor: d}
}

// texts returns pointers to the texts of a message in the order of a record.
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

// encode returns a message as a record. It must not be called from several goroutines.
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
	return bytes.Clone(c.record)
}

// decodeHead returns the message of a record without its body, which is in rest.
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
	if len(rest) == 0 { // bodies are never empty
		return nil, errRecord
	}
	if m.Body, err = c.decompressor.DecodeAll(rest, nil); err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return m, nil
}
