package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"
)

// A reader must not trust the lengths that a recording states. It reads what a Recorder may write, and treats
// anything longer as damage. So memory is bounded, however well a file compresses.
const (
	// maxFrameBytes is the decompressed size of a frame.
	maxFrameBytes = 128 << 20
	// maxLineBytes is the size of a line. A Kubernetes API server accepts objects of up to 3 MiB.
	maxLineBytes = 32 << 20
	// maxUncheckedBytes is the size of consecutive lines without a checksum. A reader buffers these.
	maxUncheckedBytes = sumBytes + maxLineBytes + maxSumLine
	// maxSumLine is the size of a CHECKED line.
	maxSumLine = 1 << 10
	// maxHeaderBytes is the size of a RECORDING or RESOURCE line.
	maxHeaderBytes = 4 << 20
	// maxIndexBytes is the size of the JSON text of an index.
	maxIndexBytes = 8 << 20
	// maxWindowBytes is the size of the window that a zstd frame may require.
	maxWindowBytes = 2 * windowBytes
	// maxDamagedParts is after how many damaged parts or frames the rest of a segment is not searched for frames.
	maxDamagedParts = 256
	// maxUnverifiedBytes is after how many decompressed bytes of damaged frames without valid lines the rest of a segment is
	// not read.
	maxUnverifiedBytes = 64 << 20
	// lineStart is how each line starts.
	lineStart = `{"type":"`
)

// MaxSegmentBytes is the size of a segment file. A Recorder begins another segment long before.
const MaxSegmentBytes = 1 << 30

var (
	errFrameTooLong = fmt.Errorf("a frame is longer than %d MiB", maxFrameBytes>>20)
	errLineTooLong  = fmt.Errorf("a line is longer than %d MiB", maxLineBytes>>20)
	errHeader       = fmt.Errorf("a header is longer than %d MiB", maxHeaderBytes>>20)
	errListElement  = errors.New("a list has an element that dwatch never writes")
)

// exceedsLimit reports whether err is about a length that no Recorder writes. In that case, the rest of the segment is not
// decompressed.
func exceedsLimit(err error) bool {
	return errors.Is(err, errFrameTooLong) || errors.Is(err, errLineTooLong)
}

// nameList is a JSON array of names in ascending order. Unmarshaling fails for repeated names: a short text could contain many
// of them.
type nameList []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *nameList) UnmarshalJSON(text []byte) error {
	if *l = nil; string(text) == "null" { // a Recorder writes that for an empty list
		return nil
	}
	ascending := true
	gjson.ParseBytes(text).ForEach(func(_, element gjson.Result) bool {
		n := len(*l)
		if ascending = element.Type == gjson.String && (n == 0 || (*l)[n-1] < element.Str); ascending {
			*l = append(*l, strings.Clone(element.Str))
		}
		return ascending
	})
	if !ascending {
		return errListElement
	}
	return nil
}

// BoundedList is a JSON array of objects. In memory it takes at most a few times the size of its text, because
// unmarshaling fails for elements that are not objects, or shorter than a quarter of the memory that they take.
// Anything that dwatch writes is longer.
type BoundedList[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *BoundedList[T]) UnmarshalJSON(text []byte) (err error) {
	*l = nil
	least := int(unsafe.Sizeof(*new(T))) / 4
	gjson.ParseBytes(text).ForEach(func(_, element gjson.Result) bool {
		if !element.IsObject() || len(element.Raw) < least {
			err = errListElement
			return false
		}
		var value T
		if err = json.Unmarshal([]byte(element.Raw), &value); err == nil {
			*l = append(*l, value)
		}
		return err == nil
	})
	return err
}
