package inventory

import (
	"strings"

	"github.com/tidwall/gjson"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/status"
	"dwatch/watcher/pack"
)

// stateReader turns events into states. It has no lock, because only Deliver uses it.
type stateReader struct {
	options Options
	packer  pack.Packer
	columns map[columnsKey]*columns
	// managers interns the lists of field managers, so that states share them.
	managers map[string][]string
}

func newStateReader(o Options) stateReader {
	return stateReader{options: o, columns: map[columnsKey]*columns{}, managers: map[string][]string{}}
}

// read returns the state of an object in an event, without its Entry.
func (r *stateReader) read(e *event.Event) *State {
	s := &State{
		Type: e.Type, Time: e.Time, Target: e.Target,
		Initial: e.Initial, Listed: e.Listed, FinalStateUnknown: e.FinalStateUnknown,
	}
	if r.options.WithoutContent {
		r.readWithoutContent(s, e)
		return s
	}
	resource := e.Target.Resource().GroupResource()
	content := e.Object.Raw()
	s.content = &packed{masks: r.options.Masks, omitManagedFields: r.options.OmitManagedFields}
	s.content.Packed = r.packer.Pack(resource, content)
	s.Object = event.NewLazyObject(e.Object.Identity, s.content)
	s.Summary = newSummary(s.Object.Identity, r.options.Masks.MaskJSON(content), s.Time, s.Initial)
	s.Managers = r.internNames(change.Managers(content))
	definitions := "" // without a table from the server
	if row := e.Object.Row(); row != "" && (r.options.Masks == nil || len(r.options.Masks.Paths) == 0) {
		definitions = gjson.Get(row, "columnDefinitions").Raw
		s.cells = cellsOf(row)
	}
	s.columns = r.columnsOf(e.Target.Mapping.GroupVersionKind.GroupKind(), definitions)
	s.findTimes(content)
	return s
}

// readWithoutContent is read for Options.WithoutContent. It does not decode objects whose status can only be Current,
// because decoding dominates the cost.
func (r *stateReader) readWithoutContent(s *State, e *event.Event) {
	content := e.Object.Raw()
	s.Object = event.NewObject(e.Object.Identity, "")
	if !e.Object.IsEvent() && !status.MayNotBeCurrent(e.Object.GroupVersionKind(), content) {
		s.Status, s.Owners = kstatus.CurrentStatus, owner.FromJSON(content)
		return
	}
	s.Summary = newSummary(s.Object.Identity, r.options.Masks.MaskJSON(content), s.Time, s.Initial)
	s.labels = ""
}

// internNames returns an equal slice that other states already use, to save memory.
func (r *stateReader) internNames(names []string) []string {
	key := strings.Join(names, " ")
	if known, is := r.managers[key]; is {
		return known
	}
	if len(r.managers) >= maxManagers { // some client uses a new name each time
		clear(r.managers)
	}
	r.managers[key] = names
	return names
}

// maxManagers bounds the number of interned lists of managers.
const maxManagers = 1000
