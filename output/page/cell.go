package page

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// columnsOf returns the columns of a row of a kind as the server sent it.
func columnsOf(definitions gjson.Result, kind schema.GroupKind) []column {
	var columns []column
	for _, d := range definitions.Array() {
		if len(columns) == maxCells {
			break
		}
		from := begins(kind, d.Get("name").String())
		columns = append(columns, column{
			Name: clip(d.Get("name").String(), maxCell), Type: clip(d.Get("type").String(), maxCell),
			Format: clip(d.Get("format").String(), maxCell), Priority: int32(d.Get("priority").Int()),
			Counts: from != nil, begins: from,
		})
	}
	return columns
}

// isAge reports whether what the server says in a column is how long something is past:
// that is old at once.
func (c *column) isAge() bool {
	switch c.Name {
	case "Age", "Last Seen", "First Seen", "Last Schedule":
		return true
	}
	return c.Type == "date"
}

// begins says where in an object of a kind the time is from which the server counts in a
// column, the first that is there; nil: it does not count there, or it is not known from
// when. What a column is for its definition does not tell: these are those of
// k8s.io/kubernetes/pkg/printers, but for Age, which is created, and Restarts.
func begins(kind schema.GroupKind, name string) []string {
	switch kind.String() + " " + name {
	case "Job.batch Duration":
		return []string{"status.startTime"}
	case "CronJob.batch Last Schedule":
		return []string{"status.lastScheduleTime"}
	case "Event Last Seen", "Event.events.k8s.io Last Seen":
		return []string{"series.lastObservedTime", "lastTimestamp", "deprecatedLastTimestamp", "firstTimestamp", "deprecatedFirstTimestamp", "eventTime"}
	case "Event First Seen", "Event.events.k8s.io First Seen":
		return []string{"firstTimestamp", "deprecatedFirstTimestamp", "eventTime"}
	}
	return nil
}

// begin is when that was from which a column of an object counts, as a cell.
func (c *column) begin(o event.Object) []byte {
	content := o.Raw()
	for _, path := range c.begins {
		if at, err := time.Parse(time.RFC3339, gjson.Get(content, path).String()); err == nil {
			return strconv.AppendInt(nil, at.UnixMilli(), 10)
		}
	}
	return []byte("null")
}

// stands reports whether what the server said in a column that counts stays as it is.
func (c *column) stands(o event.Object) bool {
	return c.Name == "Duration" && gjson.Get(o.Raw(), "status.completionTime").Exists()
}

// cellOf is a value of a column of an object. The age that stands beside the number of
// restarts is left out: "3 (5m ago)".
func cellOf(c *column, value gjson.Result, o event.Object) []byte {
	switch {
	case c.Counts && !c.stands(o):
		return c.begin(o)
	case c.isAge():
		return []byte("null")
	case c.Name == "Restarts" && value.Type == gjson.String:
		number, _, _ := strings.Cut(value.String(), " (")
		return encode(clip(number, maxCell))
	case value.Type == gjson.String, value.Type == gjson.JSON, len(value.Raw) > maxCell:
		return encode(clip(value.String(), maxCell))
	}
	return []byte(value.Raw)
}

// cellsOf returns the values of an object's row for columns, each of them bounded.
func cellsOf(values gjson.Result, columns []column, o event.Object) json.RawMessage {
	cells := []byte{'['}
	for i, value := range values.Array() {
		if i == len(columns) {
			break // a server may send more (kubernetes/kubernetes#66379)
		}
		if i > 0 {
			cells = append(cells, ',')
		}
		cells = append(cells, cellOf(&columns[i], value, o)...)
	}
	return append(cells, ']')
}
