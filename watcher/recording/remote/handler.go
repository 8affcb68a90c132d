// Package remote gives a recording to those who ask for it over HTTP, and reads one that is given so. An
// Offer answers, a Client asks. Who may ask is for others to say: an Offer stands behind a guard.
//
// A request without parameters lists all segments, each with its header and its index. One with "segment", and of
// several clusters "cluster", gets the bytes of that, from the offset "from" to the offset "to". Segments only ever get
// longer, so who has a part asks for the rest.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"dwatch/watcher/recording"
)

// Version is that of what requests and answers look like.
const ProtocolVersion = 1

// Path is where an Offer is, below the address of who has it.
const Path = "api/recording"

// listing is the answer to what there is.
type listing struct {
	Version    int                                   `json:"version"`
	Recordings recording.BoundedList[clusterListing] `json:"parts"`
}

// part is what there is of one cluster, which has no name if it is the only one.
type clusterListing struct {
	Cluster  string                                      `json:"cluster,omitempty"`
	Segments recording.BoundedList[recording.StoredFile] `json:"segments"`
}

// problem is the answer if there is none.
type errorResponse struct {
	Error string `json:"error"`
}

// patience is how long somebody may take nothing of an answer.
const writeTimeout = 30 * time.Second

// chunk is how much of an answer is read and written at once.
const chunkBytes = 256 << 10

// Offer is what gives a recording.
type Handler struct {
	// Parts are the recordings, each in a directory: one of the only cluster, or one for each.
	ListRecordings func() ([]recording.ClusterRecording, error)
	// Withhold says why a segment of a cluster is not given; empty: it is.
	WithholdReason func(cluster string, of recording.Segment) string

	mu sync.Mutex // of who looks at what there is: one at a time
	// known is what was found of the segments of each cluster, by name.
	known map[string]map[string]recording.Segment
}

type segment struct{ cluster, name string }

var _ http.Handler = (*Handler)(nil)

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, err := parseRequest(r.URL.RawQuery)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
		return
	}
	parts, err := h.ListRecordings()
	if err != nil {
		writeError(w, http.StatusInternalServerError, errUnreadable)
		return
	}
	if asked.name == "" {
		h.serveList(w, r, parts)
		return
	}
	h.serveSegment(w, r, parts, asked)
}

// request is which bytes of a segment are asked for; without a name all segments are listed.
type request struct {
	segment
	from, to int64 // to is negative for the end
}

// read reads a query.
func parseRequest(query string) (asked request, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return asked, errors.New("the query can't be read")
	}
	asked.to = -1
	for name, all := range values {
		var wrong error
		switch name {
		case "cluster":
			asked.cluster = all[0]
		case "segment":
			asked.name = all[0]
		case "from":
			asked.from, wrong = strconv.ParseInt(all[0], 10, 64)
		case "to":
			asked.to, wrong = strconv.ParseInt(all[0], 10, 64)
		default:
			wrong = errors.New("it is not known")
		}
		if wrong != nil || len(all) > 1 || asked.from < 0 {
			return asked, errors.New("a parameter is wrong: a recording is asked for by cluster, segment, from and to")
		}
	}
	return asked, nil
}

var errUnreadable = errors.New("the recording can't be read")

// list answers what there is. What may not be given is named, with the reason.
func (h *Handler) serveList(w http.ResponseWriter, r *http.Request, parts []recording.ClusterRecording) {
	answer := listing{Version: ProtocolVersion, Recordings: []clusterListing{}}
	for _, p := range parts {
		all, err := h.listSegments(r.Context(), p)
		if err != nil {
			writeError(w, http.StatusInternalServerError, errUnreadable)
			return
		}
		one := clusterListing{p.Cluster, []recording.StoredFile{}}
		for _, s := range all {
			if s.IsEmpty {
				continue
			}
			if why := h.withheldReason(p.Cluster, s); why != "" {
				s.StoredFile = recording.StoredFile{Name: s.Name, Size: s.Size, WithheldReason: why}
			}
			one.Segments = append(one.Segments, s.StoredFile)
		}
		answer.Recordings = append(answer.Recordings, one)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	writeBody(w, "application/json", bytes.NewReader(text), int64(len(text)))
}

// knownBytes is how much of the segments of a cluster is kept in memory: what is more is read for each listing.
const knownBytes = 32 << 20

// look finds what there is of a cluster. What was found before is not read again.
func (h *Handler) listSegments(ctx context.Context, of recording.ClusterRecording) ([]recording.Segment, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := ctx.Err(); err != nil { // nobody waits for it any more
		return nil, err
	}
	all, err := recording.ListSegments(ctx, of.Store, h.known[of.Cluster])
	if err != nil {
		return nil, err
	}
	known, size := map[string]recording.Segment{}, 0
	for _, s := range all {
		if size += len(s.Head) + len(s.Tail); size <= knownBytes {
			known[s.Name] = s
		}
	}
	if h.known == nil {
		h.known = map[string]map[string]recording.Segment{}
	}
	h.known[of.Cluster] = known
	return all, nil
}

// withheld says why a segment is not given; empty: it is.
func (h *Handler) withheldReason(cluster string, s recording.Segment) string {
	if s.RunInfo == nil {
		return "what it hides can't be read"
	}
	return h.WithholdReason(cluster, s)
}

// errNone is the answer about a segment that is not there, by which a Client knows that it was dropped.
var errNoSegment = errors.New("there is no such segment")

// opener is a Store whose files can be opened, as those of a directory.
type opener interface {
	Open(name string) (*os.File, error)
}

var _ opener = recording.Dir("")

// give answers with bytes of a segment.
func (h *Handler) serveSegment(w http.ResponseWriter, r *http.Request, parts []recording.ClusterRecording, asked request) {
	n := slices.IndexFunc(parts, func(p recording.ClusterRecording) bool { return p.Cluster == asked.cluster })
	if n < 0 {
		writeError(w, http.StatusNotFound, errNoSegment)
		return
	}
	all, err := h.listSegments(r.Context(), parts[n])
	if err != nil {
		writeError(w, http.StatusInternalServerError, errUnreadable)
		return
	}
	// Only what is called as one of the list is looked for.
	at := slices.IndexFunc(all, func(s recording.Segment) bool { return s.Name == asked.name })
	if at < 0 {
		writeError(w, http.StatusNotFound, errNoSegment)
		return
	}
	if why := h.withheldReason(asked.cluster, all[at]); why != "" {
		writeError(w, http.StatusForbidden, errors.New("withheld: "+why))
		return
	}
	f, size, err := open(parts[n].Store, asked.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		writeError(w, http.StatusNotFound, errNoSegment)
		return
	case err != nil:
		writeError(w, http.StatusInternalServerError, errors.New("the segment can't be read"))
		return
	}
	defer f.Close()
	if asked.to < 0 || asked.to > size {
		asked.to = size
	}
	length := max(asked.to-asked.from, 0)
	writeBody(w, "application/octet-stream", io.NewSectionReader(f, asked.from, length), length)
}

// open opens a file, which has this size by now.
func open(store recording.Store, name string) (*os.File, int64, error) {
	dir, ok := store.(opener)
	if !ok {
		return nil, 0, errors.ErrUnsupported
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func writeError(w http.ResponseWriter, code int, err error) {
	text, _ := json.Marshal(errorResponse{err.Error()}) // of a string
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(text)
}

// write writes an answer of this length as fast as it is taken. Where less can be read the connection breaks, as who
// takes it has been told the length.
func writeBody(w http.ResponseWriter, kind string, from io.Reader, length int64) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	control := http.NewResponseController(w)
	part := make([]byte, min(length, chunkBytes))
	for length > 0 {
		part = part[:min(length, chunkBytes)]
		if _, err := io.ReadFull(from, part); err != nil {
			return
		}
		control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(part); err != nil {
			return
		}
		length -= int64(len(part))
	}
}
