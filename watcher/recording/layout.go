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

// FormatVersion is the version of the file layout. Newer versions are not read.
const FormatVersion = 1

const (
	preamble = "dwatch recording " // the first frame of a segment, followed by the version
	trailer  = "DWIX"              // the last bytes of a segment with an index
	lockName = ".lock"
	suffix   = ".zst"
)

// RunInfo describes what a run records.
type RunInfo struct {
	Server     string `json:"server,omitempty"`
	ClusterUID string `json:"cluster,omitempty"` // of the kube-system namespace; empty if it could not be read
	// EndpointID identifies the server by its address and the CA that verifies it. It is empty if the server is not verified.
	EndpointID string `json:"endpoint,omitempty"`
	// DefaultNamespace is the namespace of requests that do not name one.
	DefaultNamespace string          `json:"namespace,omitempty"`
	Selection        event.Selection `json:"selection"`
	// Masks identifies the masks of recorded objects. If it differs from the previous run, no object is taken over.
	Masks string `json:"masks,omitempty"`
}

// SameCluster reports whether both runs recorded the same cluster. known is false if that can't be determined.
func (a RunInfo) SameCluster(b RunInfo) (same, known bool) {
	switch {
	case a.ClusterUID != "" && b.ClusterUID != "":
		return a.ClusterUID == b.ClusterUID, true
	case a.EndpointID != "" && a.EndpointID == b.EndpointID:
		return true, true
	}
	return false, false
}

// mismatch returns why a segment of run a can't follow a segment of run b, or an empty string if it can.
func (a RunInfo) mismatch(b RunInfo) string {
	switch same, known := a.SameCluster(b); {
	case known && !same:
		return "it belongs to another cluster than the previous segment"
	case !known && a.Server != b.Server:
		return "it may belong to another cluster than the previous segment"
	}
	return ""
}

// header is the first line of a segment.
type header struct {
	Type          event.Type      `json:"type"`
	Time          event.Timestamp `json:"time"`
	Version       int             `json:"version"`
	SegmentNumber int             `json:"segment"`
	// StartsRun means that a run begins. Otherwise the segment continues the previous one.
	StartsRun bool `json:"begins,omitempty"`
	// Run is random and identifies the run. LastTime is the time of the latest line of this and earlier runs.
	Run      string          `json:"run"`
	LastTime event.Timestamp `json:"last"`
	RunInfo
	Targets   BoundedList[coverageState]      `json:"targets"`
	Resources BoundedList[metav1.APIResource] `json:"resources"` // of the targets
}

// index is the content of the last frame of a complete segment.
type index struct {
	Version    int                             `json:"version"`
	From       event.Timestamp                 `json:"from"`
	To         event.Timestamp                 `json:"to"`
	Lines      int                             `json:"lines"`
	Resources  BoundedList[metav1.APIResource] `json:"resources"`
	Namespaces nameList                        `json:"namespaces"`
	// Changed lists the resources and namespaces that have events other than BOOKMARK after the start of the segment, as
	// resource.group/namespace. An empty namespace stands for any.
	Changed nameList                   `json:"changed"`
	Targets BoundedList[coverageState] `json:"targets"` // at the end
	Frames  BoundedList[frameInfo]     `json:"frames"`
}

// frameInfo describes a frame.
type frameInfo struct {
	Offset int64           `json:"offset"`
	From   event.Timestamp `json:"from"`
	To     event.Timestamp `json:"to"`
	Lines  int             `json:"lines"`
}

// skippable returns a frame that zstd decoders skip.
func skippable(content string) []byte {
	frame := binary.LittleEndian.AppendUint32(nil, skipMagic)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(content)))
	return append(frame, content...)
}

// frame returns the index as the last frame of a segment. Readers find it from the length and the trailer at its end.
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

// indexEnd is the length of the checksum, the length and the trailer after the JSON text of an index frame.
const indexEnd = 4 + 4 + len(trailer)

// parseIndex parses the content of an index frame. It returns nil if that is invalid.
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

// file is a segment file.
type file struct {
	store      Store
	path       string // in a directory, or the name in another store
	number     int
	size       int64
	head, tail []byte  // see StoredFile
	withheld   string  // StoredFile.WithheldReason
	header     *header // nil if not read yet
	index      *index  // nil if not read yet, or if there is none
}

// name returns the name of the file in its store.
func (f file) name() string { return filepath.Base(f.path) }

// read calls Store.Read.
func (f file) read(ctx context.Context, from, to int64) ([]byte, error) {
	return f.store.Read(ctx, f.name(), from, to)
}

// isJustCreated reports whether the file contains nothing but its first frame, which has no lines, or the start of that.
func (f file) isJustCreated(ctx context.Context) bool {
	whole := skippable(fmt.Sprint(preamble, FormatVersion))
	if f.size > int64(len(whole)) {
		return false
	}
	data, err := f.read(ctx, 0, -1)
	return err == nil && bytes.HasPrefix(whole, data)
}

var segmentName = regexp.MustCompile(`^\d{8,}-\d{8}T\d{6}Z\` + suffix + `$`)

// isOurs reports whether a Recorder may have chosen the name of the file. Other files are never removed.
func (f file) isOurs() bool { return segmentName.MatchString(filepath.Base(f.path)) }

func fileName(number int, begun time.Time) string {
	return fmt.Sprintf("%08d-%s%s", number, begun.UTC().Format("20060102T150405Z"), suffix)
}
