package recording

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"dwatch/watcher/event"
)

// Version is that of the layout. What has a newer one is not read.
const Version = 1

const (
	preamble = "dwatch recording " // the first frame of a segment, followed by the version
	trailer  = "DWIX"              // the last bytes of a segment with an index
	lockName = ".lock"
	suffix   = ".zst"
)

// About says of what a run is a recording.
type About struct {
	Server  string `json:"server,omitempty"`
	Cluster string `json:"cluster,omitempty"` // the UID that stands for it
	// Namespace is the one that was meant where none was named.
	Namespace string          `json:"namespace,omitempty"`
	Selection event.Selection `json:"selection"`
}

// header is the first line of a segment.
type header struct {
	Type    event.Type `json:"type"`
	Time    stamp      `json:"time"`
	Version int        `json:"version"`
	Segment int        `json:"segment"`
	// Begins: a run begins here; else it goes on from the segment before.
	Begins bool `json:"begins,omitempty"`
	About
	Targets []sightState `json:"targets"`
}

// index is what the last frame of a segment says of it.
type index struct {
	Version    int                  `json:"version"`
	From       stamp                `json:"from"`
	To         stamp                `json:"to"`
	Lines      int                  `json:"lines"`
	Resources  []metav1.APIResource `json:"resources"`
	Namespaces []string             `json:"namespaces"`
	Targets    []sightState         `json:"targets"` // at the end
	Frames     []frameInfo          `json:"frames"`
}

// frameInfo is where a frame begins, and what is in it.
type frameInfo struct {
	Offset int64 `json:"offset"`
	From   stamp `json:"from"`
	To     stamp `json:"to"`
	Lines  int   `json:"lines"`
}

// stamp is a time as it stands in a line: in UTC, to the millisecond.
type stamp struct{ time.Time }

const stampLayout = "2006-01-02T15:04:05.000Z07:00"

func (s stamp) MarshalJSON() ([]byte, error) {
	return []byte(`"` + s.UTC().Format(stampLayout) + `"`), nil
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
	if err != nil {
		return nil, err
	}
	content := binary.LittleEndian.AppendUint32(text, uint32(len(text)))
	return skippable(string(content) + trailer), nil
}

// parseIndex returns the index that the last frame of a segment is; nil if it is none.
func parseIndex(content []byte) *index {
	text, ok := strings.CutSuffix(string(content), trailer)
	if !ok || len(text) < 4 {
		return nil
	}
	var i index
	if json.Unmarshal([]byte(text[:len(text)-4]), &i) != nil {
		return nil
	}
	return &i
}

// file is a segment by its name.
type file struct {
	path   string
	number int
	size   int64
}

func fileName(number int, begun time.Time) string {
	return fmt.Sprintf("%08d-%s%s", number, begun.UTC().Format("20060102T150405Z"), suffix)
}

// list returns the segments of a directory in order, and the names of what looks like one, and is
// none.
func list(dir string) (files []file, foreign []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		digits, _, _ := strings.Cut(e.Name(), "-")
		number, err := strconv.Atoi(digits)
		info, infoErr := e.Info()
		switch {
		case !strings.HasSuffix(e.Name(), suffix) || strings.HasPrefix(e.Name(), "."):
		case err != nil || number <= 0 || infoErr != nil || !info.Mode().IsRegular():
			foreign = append(foreign, e.Name())
		default:
			files = append(files, file{filepath.Join(dir, e.Name()), number, info.Size()})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return a.number - b.number })
	return files, foreign, nil
}
