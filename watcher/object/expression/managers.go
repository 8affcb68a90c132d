package expression

import (
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/tidwall/gjson"

	"dwatch/watcher/event"
)

// managers returns the value of the variable managers: the sorted field managers that made the changes, or that wrote an
// added object. It is empty for initial and deleted objects.
func (in *Input) managers() ref.Val {
	var names []string
	switch e := &in.event; {
	case e.Reconstructed != nil && e.Reconstructed.From != event.FromEvent:
		var known bool
		if names, known = in.reconstructedManagers(); !known {
			in.oldMissing = true
			return missing()
		}
	case e.Type == event.Modified:
		if v := in.changes(); types.IsError(v) {
			return v
		}
		for _, c := range in.compared.allChanges() {
			names = append(names, c.Writer.Manager)
		}
	case e.Type == event.Added && !e.Initial:
		for _, name := range gjson.Get(in.object.text(), "metadata.managedFields.#.manager").Array() {
			names = append(names, name.Str)
		}
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
	return types.NewStringList(types.DefaultTypeAdapter, names)
}

// reconstructedManagers returns the managers of a change that dwatch reconstructed from the current object.
func (in *Input) reconstructedManagers() (names []string, known bool) {
	evidence := in.event.Reconstructed
	switch evidence.From {
	case event.FromManagedFields, event.FromCreation:
		for _, w := range evidence.Writers {
			names = append(names, w.Manager)
		}
		return names, evidence.Conclusive || evidence.From == event.FromManagedFields
	case event.FromRevision:
		c, compares := in.comparison().(*comparison)
		if !compares {
			return nil, false
		}
		for _, found := range c.allChanges() {
			if !found.Writer.IsKnown() {
				return nil, false
			}
			names = append(names, found.Writer.Manager)
		}
		return names, len(names) > 0
	}
	return nil, false
}
