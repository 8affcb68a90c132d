package expression

import (
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/tidwall/gjson"

	"dwatch/watcher/event"
)

// managers returns who wrote what the event reports, as far as the managed fields say, as a list for CEL: who changed
// something, or wrote what was added.
func (in *Input) managers() ref.Val {
	var names []string
	switch e := &in.event; {
	case e.Reconstructed != nil && e.Reconstructed.From != event.FromEvent:
		var known bool
		if names, known = in.remembered(); !known {
			in.lacksOld = true
			return missing()
		}
	case e.Type == event.Modified:
		if v := in.changes(); types.IsError(v) {
			return v
		}
		for _, c := range in.compared.found() {
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

// remembered returns who wrote what nobody saw; false if that is not known.
func (in *Input) remembered() (names []string, known bool) {
	by := in.event.Reconstructed
	switch by.From {
	case event.FromManagedFields, event.FromCreation:
		for _, w := range by.Writers {
			names = append(names, w.Manager)
		}
		return names, by.Conclusive || by.From == event.FromManagedFields
	case event.FromRevision:
		c, compares := in.comparison().(*comparison)
		if !compares {
			return nil, false
		}
		for _, one := range c.found() {
			if !one.Writer.IsKnown() {
				return nil, false
			}
			names = append(names, one.Writer.Manager)
		}
		return names, len(names) > 0
	}
	return nil, false
}
