package changes

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/event"
)

// showHappening shows an Event as what it tells. If only its count has changed, its
// message is not repeated; that it expired is noise.
func (v *View) showHappening(e *event.Event) error {
	now, err := v.openHappening(e.Object)
	if err != nil {
		return err
	}
	sign := addedSign(e)
	text := now.text()
	switch e.Type {
	case event.Modified:
		sign = '~'
		before, err := v.happeningBefore(e)
		if err != nil {
			return err
		}
		if before.text() == text && before.head() == now.head() {
			v.hidden.Add(1)
			return nil
		}
		if before.text() == text {
			text = ""
		}
	case event.Deleted:
		sign, text = '-', ""
		if len(v.Compare.Noise.Paths) > 0 {
			v.hidden.Add(1)
			return nil
		}
	}
	v.shown++
	v.writeHappening(e, sign, now, text)
	return nil
}

// happeningBefore is what an Event told before; nothing if that is not known.
func (v *View) happeningBefore(e *event.Event) (happening, error) {
	if e.Old.IsZero() {
		return happening{}, nil
	}
	return v.openHappening(e.Old)
}

// openHappening is what an Event tells, as far as it is not masked.
func (v *View) openHappening(o event.Object) (happening, error) {
	u, err := v.open(o)
	if err != nil {
		return happening{}, err
	}
	u.Object = v.Compare.Masks.Object(u.Object)
	return happeningOf(u), nil
}

// writeHappening writes one line, or the message below it if that does not fit.
func (v *View) writeHappening(e *event.Event, sign rune, h happening, text string) {
	subject := "event " + clean(h.about)
	if v.Namespaces && e.Object.Namespace != "" {
		subject = clean(e.Object.Namespace) + " " + subject
	}
	head, who := h.head(), clean(h.by)
	if whole := strings.TrimSuffix(head+": "+text, ": "); v.width == 0 || displaywidth.String(subject+"  "+whole) <= v.room(who) {
		v.line(e.Time, sign, subject, whole, who)
		return
	}
	v.line(e.Time, sign, subject, head, who)
	for _, line := range wrap(text, v.room("")) {
		v.detail(line, "")
	}
}

// happening is what an Event tells.
type happening struct {
	about   string // kind/name
	kind    string // Normal or Warning
	reason  string
	message string
	count   int64
	by      string
}

func happeningOf(u *unstructured.Unstructured) happening {
	text := func(paths ...string) string {
		for _, path := range paths {
			if s, _, _ := unstructured.NestedString(u.Object, strings.Split(path, ".")...); s != "" {
				return s
			}
		}
		return ""
	}
	h := happening{
		about:   strings.ToLower(text("involvedObject.kind", "regarding.kind")) + "/" + text("involvedObject.name", "regarding.name"),
		kind:    text("type"),
		reason:  text("reason"),
		message: text("message", "note"),
		by:      text("reportingComponent", "reportingController", "source.component", "deprecatedSource.component"),
	}
	for _, path := range [][]string{{"series", "count"}, {"count"}, {"deprecatedCount"}} {
		if n, _, _ := unstructured.NestedInt64(u.Object, path...); n > h.count {
			h.count = n
		}
	}
	return h
}

// head is all but the message.
func (h happening) head() string {
	text := strings.TrimSpace(h.kind + " " + h.reason)
	if h.count > 1 {
		text = fmt.Sprintf("×%d %s", h.count, text)
	}
	return clean(text)
}

// text is the message in one line.
func (h happening) text() string { return clean(strings.Join(strings.Fields(h.message), " ")) }
