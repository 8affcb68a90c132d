package recording

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"dwatch/watcher/event"
)

// Version is that of the layout. What has a newer one is not read.
const FormatVersion = 1

const (
	preamble = "dwatch recording " // the first frame of a segment, followed by the version
	trailer  = "DWIX"              // the last bytes of a segment with an index
	lockName = ".lock"
	suffix   = ".zst"
)

// About says of what a run is a recording.
type RunInfo struct {
	Server     string `json:"server,omitempty"`
	ClusterUID string `json:"cluster,omitempty"` // the UID that stands for it; empty: it was not to be seen
	// Endpoint stands for the address and for what proves that it is that; empty: nothing does.
	EndpointID string `json:"endpoint,omitempty"`
	// Namespace is the one that was meant where none was named.
	DefaultNamespace string          `json:"namespace,omitempty"`
	Selection        event.Selection `json:"selection"`
	// Masks says what is hidden of objects: where that changes, nothing is taken over from before.
	Masks string `json:"masks,omitempty"`
}

// IsOf reports whether both are of one cluster. known: that can be told.
func (a RunInfo) SameCluster(b RunInfo) (same, known bool) {
	switch {
	case a.ClusterUID != "" && b.ClusterUID != "":
		return a.ClusterUID == b.ClusterUID, true
	case a.EndpointID != "" && a.EndpointID == b.EndpointID:
		return true, true
	}
	return false, false
}

// strange says why a segment is no part of a recording whose segment before is of b; empty: it is.
func (a RunInfo) mismatch(b RunInfo) string {
	switch same, known := a.SameCluster(b); {
	case known && !same:
		return "it is of another cluster than the one before"
	case !known && a.Server != b.Server:
		return "it can't be told whether it is of the same cluster as the one before"
	}
	return ""
}

// header is the first line of a segment.
type header struct {
	Type          event.Type      `json:"type"`
	Time          event.Timestamp `json:"time"`
	Version       int             `json:"version"`
	SegmentNumber int             `json:"segment"`
	// Begins: a run begins here; else it goes on from the segment before.
	StartsRun bool `json:"begins,omitempty"`
	// Run is of one run alone, and Last the time of the latest line before, of any run.
	Run      string          `json:"run"`
	LastTime event.Timestamp `json:"last"`
	RunInfo
	Targets   BoundedList[coverageState]      `json:"targets"`
	Resources BoundedList[metav1.APIResource] `json:"resources"` // of the targets
}

// index is what the last frame of a segment says of it.
type index struct {
	Version    int                             `json:"version"`
	From       event.Timestamp                 `json:"from"`
	To         event.Timestamp                 `json:"to"`
	Lines      int                             `json:"lines"`
	Resources  BoundedList[metav1.APIResource] `json:"resources"`
	Namespaces []string                        `json:"namespaces"`
	// Changed are resources and namespaces of which it has more than what was there at its begin:
	// resource.group/namespace, without a namespace where all may be meant.
	Changed []string                   `json:"changed"`
	Targets BoundedList[coverageState] `json:"targets"` // at the end
	Frames  BoundedList[frameInfo]     `json:"frames"`
}

// frameInfo is where a frame begins, and what is in it.
type frameInfo struct {
	Offset int64           `json:"offset"`
	From   event.Timestamp `json:"from"`
	To     event.Timestamp `json:"to"`
	Lines  int             `json:"lines"`
}

// skippable is a frame that readers of zstd skip.
func skippable(content string) []byte {
	frame := binary.LittleEndian.AppendUint32(nil, skipMagic)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(content)))
	return append(frame, content...)
}

// frame is the index as it stands at the end of a segment, where it can be found from.
func (i *index) frame() ([]byte, error) {
	text, err := json.Marshal(i)
	if err == nil && len(text) > maxIndexBytes {
		err = fmt.Errorf("the index of a segment is longer than %d MiB", maxIndexBytes>>20)
	}
	if err != nil {
		return nil, err
	}
	content := binary.LittleEndian.AppendUint32(text, crc32.Checksum(text, crcTable))
	content = binary.LittleEndian.AppendUint32(content, uint32(len(text)))
	return skippable(string(content) + trailer), nil
}

// indexEnd is what follows the text of an index in its frame: its checksum, its length, the trailer.
const indexEnd = 4 + 4 + len(trailer)

// parseIndex returns the index that is the content of a frame; nil if it is none.
func parseIndex(content []byte) *index {
	text := len(content) - indexEnd
	if text < 0 || text > maxIndexBytes || string(content[len(content)-len(trailer):]) != trailer || int(binary.LittleEndian.Uint32(content[text+4:])) != text {
		return nil
	}
	var i index
	if crc32.Checksum(content[:text], crcTable) != binary.LittleEndian.Uint32(content[text:]) || json.Unmarshal(content[:text], &i) != nil {
		return nil
	}
	return &i
}

// file is a segment by its name.
type file struct {
	store      Store
	path       string // of a directory where that is, else as it is called in the store
	number     int
	size       int64
	head, tail []byte  // as of Stored
	withheld   string  // why it can't be read; empty: it can
	header     *header // nil: it has not been read yet
	index      *index  // nil: it has none, or it has not been read yet
}

// name is what it is called in its store.
func (f file) name() string { return filepath.Base(f.path) }

// read reads a part of it, as Store does.
func (f file) read(ctx context.Context, from, to int64) ([]byte, error) {
	return f.store.Read(ctx, f.name(), from, to)
}

// begins reports whether nothing was written to a segment but the begin of its first frame.
func (f file) isJustCreated(ctx context.Context) bool {
	whole := skippable(fmt.Sprint(preamble, FormatVersion))
	if f.size > int64(len(whole)) {
		return false
	}
	data, err := f.read(ctx, 0, -1)
	return err == nil && bytes.HasPrefix(whole, data)
}

var segmentName = regexp.MustCompile(`^\d{8,}-\d{8}T\d{6}Z\` + suffix + `$`)

// isOurs reports whether it is called as Recorder calls segments: nothing else is ever removed.
func (f file) isOurs() bool { return segmentName.MatchString(filepath.Base(f.path)) }

func fileName(number int, begun time.Time) string {
	return fmt.Sprintf("%08d-%s%s", number, begun.UTC().Format("20060102T150405Z"), suffix)
}
