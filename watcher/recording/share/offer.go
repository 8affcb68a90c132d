// Package share gives a recording to those who ask for it over HTTP, and reads one that is given so. An
// Offer answers, a Client asks. Who may ask is for others to say: an Offer stands behind a guard.
//
// A request without parameters lists all segments, each with its header and its index. One with "segment", and of
// several clusters "cluster", gets the bytes of that, from the offset "from" to the offset "to". Segments only ever get
// longer, so who has a part asks for the rest.
package share

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"dwatch/watcher/recording"
)

// Version is that of what requests and answers look like.
const Version = 1

// Path is where an Offer is, below the address of who has it.
const Path = "api/recording"

// listing is the answer to what there is.
type listing struct {
	Version int    `json:"version"`
	Parts   []part `json:"parts"`
}

// part is what there is of one cluster, which has no name if it is the only one.
type part struct {
	Cluster  string             `json:"cluster,omitempty"`
	Segments []recording.Stored `json:"segments"`
}

// problem is the answer if there is none.
type problem struct {
	Error string `json:"error"`
}

// patience is how long somebody may take nothing of an answer.
const patience = 30 * time.Second

// chunk is how much of an answer is written at once.
const chunk = 256 << 10

// Offer is what gives a recording.
type Offer struct {
	// Parts are the recordings: one of the only cluster, or one for each.
	Parts func() ([]recording.Part, error)
	// Withhold says why nothing is given of what a run has recorded of a cluster; empty: all of it is.
	Withhold func(cluster string, of recording.About) string

	mu sync.Mutex
	// runs is what the segments are of, which never changes.
	runs map[segment]recording.About
}

type segment struct{ cluster, name string }

var _ http.Handler = (*Offer)(nil)

// ServeHTTP implements http.Handler.
func (o *Offer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, err := read(r.URL.RawQuery)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	parts, err := o.Parts()
	if err != nil {
		refuse(w, http.StatusInternalServerError, errors.New("the recording can't be read"))
		return
	}
	if asked.name == "" {
		o.list(w, r, parts)
		return
	}
	o.give(w, r, parts, asked)
}

// request is which bytes of a segment are asked for; without a name all segments are listed.
type request struct {
	segment
	from, to int64 // to is negative for the end
}

// read reads a query.
func read(query string) (asked request, err error) {
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

// list answers what there is. What may not be given is named, with the reason.
func (o *Offer) list(w http.ResponseWriter, r *http.Request, parts []recording.Part) {
	answer := listing{Version: Version, Parts: []part{}}
	known := map[segment]recording.About{}
	for _, p := range parts {
		all, err := recording.Segments(r.Context(), p.Store)
		if err != nil {
			refuse(w, http.StatusInternalServerError, errors.New("the recording can't be read"))
			return
		}
		one := part{p.Cluster, []recording.Stored{}}
		for _, s := range all {
			if s.About != nil {
				known[segment{p.Cluster, s.Name}] = *s.About
			}
			if s.Begins {
				continue
			}
			if why := o.withheld(p.Cluster, s); why != "" {
				s.Stored = recording.Stored{Name: s.Name, Size: s.Size, Withheld: why}
			}
			one.Segments = append(one.Segments, s.Stored)
		}
		answer.Parts = append(answer.Parts, one)
	}
	o.mu.Lock()
	o.runs = known
	o.mu.Unlock()
	text, err := json.Marshal(answer)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	write(w, "application/json", text)
}

// withheld says why a segment is not given; empty: it is.
func (o *Offer) withheld(cluster string, s recording.Segment) string {
	if s.About == nil {
		return "what it hides can't be read"
	}
	return o.Withhold(cluster, *s.About)
}

// errNone is the answer about a segment that is not there, by which a Client knows that it was dropped.
var errNone = errors.New("there is no such segment")

// give answers with bytes of a segment.
func (o *Offer) give(w http.ResponseWriter, r *http.Request, parts []recording.Part, asked request) {
	n := slices.IndexFunc(parts, func(p recording.Part) bool { return p.Cluster == asked.cluster })
	if n < 0 {
		refuse(w, http.StatusNotFound, errNone)
		return
	}
	about, err := o.about(r, parts[n], asked.segment)
	switch {
	case errors.Is(err, errNone):
		refuse(w, http.StatusNotFound, err)
		return
	case err != nil:
		refuse(w, http.StatusInternalServerError, errors.New("the recording can't be read"))
		return
	}
	if why := o.Withhold(asked.cluster, about); why != "" {
		refuse(w, http.StatusForbidden, errors.New("withheld: "+why))
		return
	}
	data, err := parts[n].Store.Read(r.Context(), asked.name, asked.from, asked.to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		refuse(w, http.StatusNotFound, errNone)
	case err != nil:
		refuse(w, http.StatusInternalServerError, errors.New("the segment can't be read"))
	default:
		write(w, "application/octet-stream", data)
	}
}

// about is what a segment is of. Only what is called as a segment of the list is looked for.
func (o *Offer) about(r *http.Request, of recording.Part, asked segment) (recording.About, error) {
	o.mu.Lock()
	about, known := o.runs[asked]
	o.mu.Unlock()
	if known {
		return about, nil
	}
	all, err := recording.Segments(r.Context(), of.Store)
	if err != nil {
		return about, err
	}
	for _, s := range all {
		if s.Name == asked.name && s.About != nil {
			return *s.About, nil
		}
	}
	return about, errNone
}

func refuse(w http.ResponseWriter, code int, err error) {
	text, _ := json.Marshal(problem{err.Error()}) // of a string
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(text)
}

// write writes an answer, whose length is known, as fast as it is taken.
func write(w http.ResponseWriter, kind string, text []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	control := http.NewResponseController(w)
	for part := range slices.Chunk(text, chunk) {
		control.SetWriteDeadline(time.Now().Add(patience))
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}
