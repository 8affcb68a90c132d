package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/s2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/status"
)

// What a row has at most: characters, or bytes, or how many.
const (
	maxMessage    = 300
	maxCell       = 200
	maxCells      = 50
	maxLabels     = 32
	maxLabelBytes = 2 << 10
	maxOwners     = 8
	maxName       = 300
)

// look is what is to be seen of one state of an object.
type look struct {
	created int64
	status  state
	cells   json.RawMessage
	labels  map[string]string
	more    int // labels
	owners  []ownerRef
	// deleting is what the deletion waits for, once it has begun.
	deleting string
	// event is an Event of Kubernetes in one line.
	event string
	// packed is the content without managed fields, and with what is masked masked.
	packed []byte
}

// look looks at an object.
func (h *Hub) look(o event.Object) look {
	text := o.Raw()
	if h.Compare.Masks.Concern(o.APIVersion, o.Kind) {
		text = h.Compare.Masks.ObjectJSON(text)
	}
	before, after := event.CutManagedFields(text)
	text = before + after
	l := look{packed: h.pack(text)}
	if o.IsEvent() {
		l.event = eventText(text)
	}
	u, err := event.NewObject(o.Identity, text).Open()
	if err != nil { // a number that nothing can hold
		l.status = state{kstatus.UnknownStatus.String(), clip(err.Error(), maxMessage)}
		return l
	}
	l.created = millis(u.GetCreationTimestamp().Time)
	word, message := status.Of(u)
	l.status = state{word.String(), clip(message, maxMessage)}
	l.labels, l.more = labelsOf(u)
	l.owners = ownersOf(u)
	if u.GetDeletionTimestamp() != nil {
		l.deleting = deletion(u)
	}
	return l
}

// pack makes content small. It is called by Deliver alone.
func (h *Hub) pack(content string) []byte {
	h.plain = append(h.plain[:0], content...)
	h.packed = s2.Encode(h.packed[:cap(h.packed)], h.plain)
	return bytes.Clone(h.packed)
}

// deletion says what the deletion of an object waits for.
func deletion(u *unstructured.Unstructured) string {
	text := "is being deleted"
	if grace := u.GetDeletionGracePeriodSeconds(); grace != nil && *grace > 0 {
		text += fmt.Sprintf(", %d s of grace", *grace)
	}
	if f := u.GetFinalizers(); len(f) > 0 {
		text += ", waits for " + clip(strings.Join(f, ", "), maxMessage)
	}
	return text
}

// labelsOf returns as many labels as a row has room for, and how many it has not.
func labelsOf(u *unstructured.Unstructured) (some map[string]string, more int) {
	all := u.GetLabels()
	if len(all) == 0 {
		return nil, 0
	}
	some = make(map[string]string, min(len(all), maxLabels))
	size := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if size += len(name) + len(all[name]); len(some) == maxLabels || size > maxLabelBytes {
			break
		}
		some[name] = all[name]
	}
	return some, len(all) - len(some)
}

func ownersOf(u *unstructured.Unstructured) (owners []ownerRef) {
	all := owner.Of(u)
	for _, o := range all[:min(len(all), maxOwners)] {
		owners = append(owners, ownerRef{clip(string(o.UID), maxName), clip(o.Kind, maxName), clip(o.Name, maxName), o.Controller})
	}
	return owners
}

// maxChanges is how many changes a message has, and maxValue how many characters a value.
const (
	maxChanges = 40
	maxValue   = 500
	maxPath    = 1000
)

// compared is what a change message says of what changed.
type compared struct {
	changes []oneChange
	more    int
	noise   int
}

// compare says what a Modified changed.
func (h *Hub) compare(e *event.Event) compared {
	result := change.BetweenJSON(e.Old.Raw(), e.Object.Raw(), h.Compare)
	c := compared{noise: result.Noise}
	for i := range result.Changes {
		if i == maxChanges {
			c.more = len(result.Changes) - i
			break
		}
		c.changes = append(c.changes, oneOf(&result.Changes[i]))
	}
	return c
}

func oneOf(c *change.Change) oneChange {
	one := oneChange{Path: clip(c.Path.String(), maxPath), Kind: string(c.Kind), Who: clip(c.Who.Manager, maxName), Masked: c.Masked}
	if c.Kind != change.Added {
		one.Old, one.OldMore = valueText(c.Old)
	}
	if c.Kind != change.Removed {
		one.New, one.NewMore = valueText(c.New)
	}
	return one
}

// valueText is a value as text, and how many characters of it are left out.
func valueText(value any) (*string, int) {
	text, isText := value.(string)
	if !isText {
		content, err := json.Marshal(value)
		if err != nil {
			content = fmt.Append(nil, value)
		}
		text = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(content))
	}
	short := cut(text, maxValue)
	return &short, utf8.RuneCountInString(text) - utf8.RuneCountInString(short)
}

// cut is text up to so many characters.
func cut(text string, characters int) string {
	if len(text) <= characters {
		return text
	}
	for i := range text {
		if characters == 0 {
			return text[:i]
		}
		characters--
	}
	return text
}

// clip is cut that shows it.
func clip(text string, characters int) string {
	short := cut(text, characters)
	if len(short) < len(text) {
		return short + "…"
	}
	return short
}

// eventText is an Event of Kubernetes in one line.
func eventText(content string) string {
	e := kubeevent.Parse(content)
	text := e.Reason
	if e.IsWarning() {
		text = "Warning " + text
	}
	return clip(e.Subject()+" "+text+": "+e.Message, maxValue)
}

// ago is how long a time is past, for people.
func ago(d time.Duration) string { return fmt.Sprintf("%d s", max(d, 0)/time.Second) }
