package page

import (
	"encoding/json"
	"time"

	"dwatch/output/inventory"
)

// protocol is raised when a page that was made for an older one would go wrong.
const protocol = 3

// The messages, as docs/page.md has them.

type hello struct {
	Type      string      `json:"type"`
	Protocol  int         `json:"protocol"`
	Stream    string      `json:"stream"`
	Seq       uint64      `json:"seq"`
	Resumed   bool        `json:"resumed"`
	Now       int64       `json:"now"`
	Started   int64       `json:"started"`
	Version   string      `json:"version"`
	Cluster   string      `json:"cluster"`
	Server    string      `json:"server"`
	Title     string      `json:"title"`
	UTC       bool        `json:"utc,omitempty"`     // times are shown in it
	Secrets   bool        `json:"secrets,omitempty"` // their values are shown
	Ping      int64       `json:"ping"`
	Resources []*resource `json:"resources"`
	Targets   []target    `json:"targets"`
	Clusters  []cluster   `json:"clusters,omitempty"` // of several
	Watch     watch       `json:"watch"`
	Limits    limits      `json:"limits"`
	// Past is the time that is shown of a recording; nil: it is the present.
	Past *pastMessage `json:"past,omitempty"`
	// Live says that it is the present that is shown, and that there are other times: held.
	Live bool `json:"live,omitempty"`
}

// readingMessage says that a recording is being read, or why it can't be.
type readingMessage struct {
	Type  string `json:"type"`
	Error string `json:"error,omitempty"`
}

type limits struct {
	Ended    int `json:"ended"`
	History  int `json:"history"`
	Segments int `json:"segments"`
	Ticks    int `json:"ticks"`
}

type resource struct {
	ID         string             `json:"id"`
	Resource   string             `json:"resource"`
	Group      string             `json:"group"`
	Version    string             `json:"version"`
	Kind       string             `json:"kind"`
	Namespaced bool               `json:"namespaced"`
	Columns    []inventory.Column `json:"columns"`
	// places has where the cells of other columns stand, by the first of these; of several clusters.
	places map[*inventory.Column][]int
}

type target struct {
	Resource  string `json:"resource"`
	Cluster   string `json:"cluster,omitempty"` // of several
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     string `json:"state"`
	Since     int64  `json:"since"`
	// Heard is when the server was last heard from, if State is lost or denied. The objects of the
	// target are shown as they were then.
	Heard int64  `json:"heard,omitempty"`
	Count int    `json:"count"`
	Text  string `json:"text"`
}

type watch struct {
	State     string `json:"state"`
	Since     int64  `json:"since"`
	LastEvent int64  `json:"lastEvent"`
}

// row is what viewers see of an object at a glance; drawing adds segments and ticks.
type row struct {
	called
	Seq        uint64            `json:"seq"`
	UID        string            `json:"uid,omitempty"`
	Created    int64             `json:"created,omitempty"`
	Status     state             `json:"status"`
	Cells      []any             `json:"cells,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	LabelsMore int               `json:"labelsMore,omitempty"`
	Owners     []ownerRef        `json:"owners,omitempty"`
	By         []string          `json:"by,omitempty"`
	First      int64             `json:"first"`
	Changed    int64             `json:"changed,omitempty"`
	Changes    int               `json:"changes,omitempty"`
	Initial    bool              `json:"initial,omitempty"`
	Ended      int64             `json:"ended,omitempty"`
	About      *subject          `json:"about,omitempty"`
}

// subject is the object of an Event, and when that had happened last if a list had it: at the start, or after the connection was lost.
type subject struct {
	UID  string `json:"uid"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	At   int64  `json:"at,omitempty"`
}

type called struct {
	Key       string `json:"key"`
	Resource  string `json:"resource"`
	Cluster   string `json:"cluster,omitempty"` // of several
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

type state struct {
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
}

type ownerRef struct {
	UID        string `json:"uid"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller,omitempty"`
}

// changed is the message change, but for its row.
type changeMessage struct {
	Type  string `json:"type"`
	Seq   uint64 `json:"seq"`
	Event string `json:"event"`
	Time  int64  `json:"time"`
	Feed  bool   `json:"feed"`
	called
	Changes []changeItem `json:"changes,omitempty"`
	More    int          `json:"more,omitempty"`
	Noise   int          `json:"noise,omitempty"`
	Text    string       `json:"text,omitempty"`
	// Meant, or Lead is the number of the change that it followed, or Root what the object belongs to.
	Meant bool     `json:"meant,omitempty"`
	Lead  uint64   `json:"lead,omitempty"`
	Root  *rootRef `json:"root,omitempty"`
	// Times is how often the object has changed so, if more than once, Since when.
	Times int   `json:"times,omitempty"`
	Since int64 `json:"since,omitempty"`
	// Status is that of what was added, and the last one of what was deleted.
	Status *state `json:"status,omitempty"`
}

type rootRef struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

type changeItem struct {
	Path    string  `json:"path"`
	Kind    string  `json:"kind,omitempty"` // missing: changed, which is what most are
	Old     *string `json:"old,omitempty"`
	New     *string `json:"new,omitempty"`
	OldMore int     `json:"oldMore,omitempty"`
	NewMore int     `json:"newMore,omitempty"`
	Who     string  `json:"who,omitempty"`
	Masked  bool    `json:"masked,omitempty"`
	// Diff has the lines of a difference in the place of two long texts.
	Diff     []string `json:"diff,omitempty"`
	DiffMore int      `json:"diffMore,omitempty"`
}

type resourceMessage struct {
	Type     string    `json:"type"`
	Seq      uint64    `json:"seq"`
	Resource *resource `json:"resource"`
}

type watchMessage struct {
	Type  string `json:"type"`
	Seq   uint64 `json:"seq"`
	Time  int64  `json:"time"`
	Feed  bool   `json:"feed"`
	Event string `json:"event"`
	// Target is nil for what is about all of them.
	Target *target `json:"target,omitempty"`
	Watch  watch   `json:"watch"`
	Text   string  `json:"text,omitempty"`
}

type ping struct {
	Type      string `json:"type"`
	Now       int64  `json:"now"`
	Seq       uint64 `json:"seq"`
	LastEvent int64  `json:"lastEvent"`
}

type bye struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

// cluster is how one of several is.
type cluster struct {
	Name  string `json:"name"`
	Color int    `json:"color"`
	State string `json:"state"`
	Since int64  `json:"since,omitempty"`
	Text  string `json:"text,omitempty"`
}

type clustersMessage struct {
	Type  string    `json:"type"`
	Items []cluster `json:"items"`
}

type whereMessage struct {
	Type  string   `json:"type"`
	ID    int64    `json:"id"`
	Seq   uint64   `json:"seq"`
	Keys  []string `json:"keys"`
	Last  bool     `json:"last"`
	Error string   `json:"error,omitempty"`
}

type matchesMessage struct {
	Type string   `json:"type"`
	ID   int64    `json:"id"`
	Seq  uint64   `json:"seq"`
	In   []string `json:"in"`
	Out  []string `json:"out"`
}

// encode encodes a message, which is made of nothing that has no JSON form.
func encode(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return text
}

// millis is a time in messages; 0 for none.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
