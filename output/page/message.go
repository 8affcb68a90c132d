package page

import (
	"encoding/json"
	"time"

	"dwatch/output/inventory"
)

// protocol is the version of the protocol. It increases with incompatible changes.
const protocol = 3

// docs/reference/page-api.md describes the messages below.

// hello is the first message to a viewer. Its fields are the members of the JSON message.
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
	UTC       bool        `json:"utc,omitempty"`
	Secrets   bool        `json:"secrets,omitempty"` // values of Secrets are not masked
	Ping      int64       `json:"ping"`
	Resources []*resource `json:"resources"`
	Targets   []target    `json:"targets"`
	Clusters  []cluster   `json:"clusters,omitempty"` // nil with a single cluster
	Watch     watch       `json:"watch"`
	Limits    limits      `json:"limits"`
	// Past describes the shown time of the past. nil means that the present is shown.
	Past *pastMessage `json:"past,omitempty"`
	// Live is true if the present is shown. /api/held returns the other times that can be shown.
	Live bool `json:"live,omitempty"`
}

// readingMessage means that the requested time is being prepared. Error is set if that failed.
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
	// places has the indexes in Columns of the columns of a state, by the address of the first one. It is nil with a single
	// cluster.
	places map[*inventory.Column][]int
}

type target struct {
	Resource  string `json:"resource"`
	Cluster   string `json:"cluster,omitempty"` // empty with a single cluster
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     string `json:"state"`
	Since     int64  `json:"since"`
	// Heard is when the server last sent something, if State is lost or denied. The objects of the target may have changed
	// since then.
	Heard int64  `json:"heard,omitempty"`
	Count int    `json:"count"`
	Text  string `json:"text"`
}

type watch struct {
	State     string `json:"state"`
	Since     int64  `json:"since"`
	LastEvent int64  `json:"lastEvent"`
}

// row is the row of an object in the table. rowView.appendTo adds segments and ticks. Its fields
// are the members of the JSON object.
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

// subject is the involved object of a Kubernetes Event.
type subject struct {
	UID  string `json:"uid"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	// At is when the Event last occurred, if dwatch got it from a list instead of a watch.
	At int64 `json:"at,omitempty"`
}

type called struct {
	Key       string `json:"key"`
	Resource  string `json:"resource"`
	Cluster   string `json:"cluster,omitempty"` // empty with a single cluster
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

// changeMessage is the change message without its row. Its fields are the members of the JSON
// message.
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
	// Meant is true for intentional changes and Warnings. For other changes, Lead is the sequence number of the intentional
	// change that caused this one. If none is known, Root is the topmost owner, unless that is the object itself.
	Meant bool     `json:"meant,omitempty"`
	Lead  uint64   `json:"lead,omitempty"`
	Root  *rootRef `json:"root,omitempty"`
	// Times is how often the object has changed in the same way, and Since the first time. Both are 0 if that happened once.
	Times int   `json:"times,omitempty"`
	Since int64 `json:"since,omitempty"`
	// Status is the status of an added object, or the last status of a deleted one.
	Status *state `json:"status,omitempty"`
}

type rootRef struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

type changeItem struct {
	Path    string  `json:"path"`
	Kind    string  `json:"kind,omitempty"` // empty means that the value changed
	Old     *string `json:"old,omitempty"`
	New     *string `json:"new,omitempty"`
	OldMore int     `json:"oldMore,omitempty"`
	NewMore int     `json:"newMore,omitempty"`
	Who     string  `json:"who,omitempty"`
	Masked  bool    `json:"masked,omitempty"`
	// Diff has the lines of a unified diff, instead of Old and New, if the values are texts of several lines.
	Diff     []string `json:"diff,omitempty"`
	DiffMore int      `json:"diffMore,omitempty"`
}

type resourceMessage struct {
	Type     string    `json:"type"`
	Seq      uint64    `json:"seq"`
	Resource *resource `json:"resource"`
}

type watchMessage struct {
	Type   string  `json:"type"`
	Seq    uint64  `json:"seq"`
	Time   int64   `json:"time"`
	Feed   bool    `json:"feed"`
	Event  string  `json:"event"`
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

// cluster is the state of a cluster. State is one of the states of targets.
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

// encode returns a message as JSON. All messages have a JSON form.
func encode(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return text
}

// millis returns a time in milliseconds since 1970, and 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
