// Package remote serves recordings over HTTP (Handler), and reads them from there (Client). A Handler does not authenticate
// users. Its caller has to.
//
// A request without parameters lists all segments, each with its header and its index. A request with "segment", and
// "cluster" if there are several, returns the bytes of that segment from offset "from" to offset "to". Segments usually only
// grow, so a client that has the start of one requests only its last bytes and the rest. If the last bytes have changed, a
// Recorder has rewritten the segment after its predecessor was killed, and the client requests all of it.
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

// ProtocolVersion is the version of requests and responses.
const ProtocolVersion = 1

// Path is the path of a Handler, relative to the URL of its server.
const Path = "api/recording"

// listing is the response with all segments.
type listing struct {
	Version    int                                   `json:"version"`
	Recordings recording.BoundedList[clusterListing] `json:"parts"`
}

// clusterListing lists the segments of a cluster. Cluster is empty if it is the only one.
type clusterListing struct {
	Cluster  string                                      `json:"cluster,omitempty"`
	Segments recording.BoundedList[recording.StoredFile] `json:"segments"`
}

// errorResponse is the body of a response with an error.
type errorResponse struct {
	Error string `json:"error"`
}

// writeTimeout is how long a client may stall.
const writeTimeout = 30 * time.Second

// chunkBytes is how much of a segment is read and written at once.
const chunkBytes = 256 << 10

// Handler serves recordings.
type Handler struct {
	// ListRecordings returns the recordings to serve. Their stores must be recording.Dir.
	ListRecordings func() ([]recording.ClusterRecording, error)
	// WithholdReason returns why a segment is not served, or an empty string if it is.
	WithholdReason func(cluster string, of recording.Segment) string

	mu sync.Mutex // held while listing segments, so that requests do this one at a time
	// known has the segments of earlier listings, by cluster and file name.
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

// request is a requested part of a segment. Without a segment name, it requests the listing.
type request struct {
	segment
	from, to int64 // if to is negative, it stands for the end
}

// parseRequest parses the query of a URL.
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
			wrong = errors.New("unknown parameter")
		}
		if wrong != nil || len(all) > 1 || asked.from < 0 {
			return asked, errors.New("invalid parameter: use cluster, segment, from and to")
		}
	}
	return asked, nil
}

var errUnreadable = errors.New("the recording can't be read")

// serveList responds with the listing. It includes withheld segments by name, with the reason.
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

// knownBytes limits the size of Handler.known per cluster. Further segments are read again for each listing.
const knownBytes = 32 << 20

// listSegments returns the segments of a recording.
func (h *Handler) listSegments(ctx context.Context, of recording.ClusterRecording) ([]recording.Segment, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := ctx.Err(); err != nil { // the client disconnected while it waited for mu
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

// withheldReason returns why a segment is not served, or an empty string.
func (h *Handler) withheldReason(cluster string, s recording.Segment) string {
	if s.RunInfo == nil {
		return "its header, which states the masks, can't be read"
	}
	return h.WithholdReason(cluster, s)
}

// errNoSegment tells a Client that the segment was removed. Its text is part of the protocol.
var errNoSegment = errors.New("there is no such segment")

// opener is a Store with local files.
type opener interface {
	Open(name string) (*os.File, error)
}

var _ opener = recording.Dir("")

// serveSegment responds with a part of a segment.
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
	// Only names in the listing are opened.
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

// open opens a file and returns its current size.
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
	text, _ := json.Marshal(errorResponse{err.Error()}) // strings can always be marshaled
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(text)
}

// writeBody writes a response of a known length. If from has fewer bytes, the client notices a truncated response.
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
