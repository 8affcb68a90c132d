package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
)

// podWithRow returns a pod with the given columns and cells.
func podWithRow(t *testing.T, name, definitions, cells string) event.Object {
	t.Helper()
	return pod(t, name, "Running", 1).WithRow(`{"columnDefinitions":[` + definitions + `],"cells":[` + cells + `]}`)
}

func definition(name, kind, format string) string {
	return fmt.Sprintf(`{"name":%q,"type":%q,"format":%q,"priority":0}`, name, kind, format)
}

// TestAgesAdvance checks that the ages in all cells advance, not only in the AGE column, and stop when the object is deleted.
func TestAgesAdvance(t *testing.T) {
	s := newScreen(t, 80, 24, nil)
	columns := strings.Join([]string{
		definition("Name", "string", "name"), definition("Seen", "date", ""), definition("Restarts", "string", ""), definition("Last Schedule", "string", ""), definition("Text", "string", ""), definition("Age", "string", ""),
	}, ",")
	s.deliver(initial(podWithRow(t, "web-a", columns, `"web-a","10s","3 (9s ago)","8s","9s","by hand"`)), synced())
	s.pass(time.Minute)
	s.shows(`^   web-a  70s +3 \(69s ago\) +68s +9s +by hand`)
	s.deliver(removed(pod(t, "web-a", "Running", 2)))
	s.pass(2 * time.Second)
	s.shows(`^ - web-a  70s `)
}

// TestNoName checks that the first column shows the selection and the resource if there is no name column.
func TestNoName(t *testing.T) {
	s := newScreen(t, 80, 24, func(o *Options) { o.Targets = []event.Target{deploys, podsOf} })
	columns := definition("Last Seen", "string", "") + "," + definition("Message", "string", "")
	s.deliver(initial(podWithRow(t, "web-a", columns, `"5s","one"`)), initial(podWithRow(t, "web-b", columns, `"7s","two"`)), synced())
	s.shows(`^   PODS 2: LAST SEEN  MESSAGE$`)
	s.press("down")
	if content := s.View().Content; !strings.Contains(content, "\x1b[7m7s ") {
		t.Errorf("the second row is not highlighted as selected: %q", content)
	}
}

// TestLongCell checks that long cells are truncated when they are stored.
func TestLongCell(t *testing.T) {
	s := newScreen(t, 80, 24, nil)
	columns := definition("Name", "string", "name") + "," + definition("Text", "string", "")
	s.deliver(initial(podWithRow(t, "web-a", columns, `"web-a","`+strings.Repeat("語", 100_000)+`"`)), synced())
	s.shows(`^   web-a  語語語`)
	if got := s.table.sections[0].widths[1]; got > 1000 {
		t.Errorf("got a column of width %d, want at most 1000", got)
	}
	testobject.Parse(t, s.table.sections[0].order[0].Object.Raw()) // the object itself is not truncated
}

// TestImages checks that images have priority among the columns for wide terminals, and are cut at their front.
func TestImages(t *testing.T) {
	columns := definition("Name", "string", "name") + "," + strings.ReplaceAll(strings.Join([]string{
		definition("Containers", "string", ""), definition("Images", "string", ""), definition("Selector", "string", "")}, ","), `"priority":0`, `"priority":1`)
	cells := `"web-a","` + strings.Repeat("container,", 5) + `","registry.example.com/shop/team/web:1.28.3","` + strings.Repeat("app=web,", 8) + `"`
	for width, want := range map[int]string{40: `NAME +IMAGES$`, 80: `NAME +CONTAINERS +IMAGES$`, 200: `NAME +CONTAINERS +IMAGES +SELECTOR`} {
		s := newScreen(t, width, 24, nil)
		s.deliver(initial(podWithRow(t, "web-a", columns, cells)), synced())
		s.shows(want)
		s.shows(`web:1\.28\.3`)
	}
}
