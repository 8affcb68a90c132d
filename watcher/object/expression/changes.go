package expression

import (
	"encoding/json"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// comparison is what an event changed: the two states, and what has been asked of them.
// For CEL it is a value that only changed() knows.
type comparison struct {
	opaque
	was, is *state // nil where nothing can have changed
	compare change.Options
	list    ref.Val
	changed map[string]bool // by pattern
}

// comparison returns the comparison of the old object with the new one. An object that
// was added or deleted has no changes. They are missing where the old one is not known.
func (in *Input) comparison() ref.Val {
	if in.compared != nil {
		return in.compared
	}
	c := &comparison{compare: in.options.Compare, changed: map[string]bool{}}
	c.compare.Masks = nil
	if in.event.Type == event.Modified {
		if in.old.object.IsZero() {
			return missing()
		}
		c.was, c.is = &in.old, &in.object
	}
	in.compared = c
	return c
}

// between returns the changes that the options ask for.
func (c *comparison) between(o change.Options) []change.Change {
	if c.was == nil {
		return nil
	}
	c.was.value()
	c.is.value()
	return change.BetweenJSON(c.was.lazy.text, c.is.lazy.text, o).Changes
}

// changes returns what changed as a list for CEL.
func (in *Input) changes() ref.Val {
	c, ok := in.comparison().(*comparison)
	if !ok {
		return in.comparison() // the error
	}
	if c.list == nil {
		found := c.between(c.compare)
		values := make([]ref.Val, len(found))
		for i := range found {
			values[i] = changeValue(&found[i])
		}
		c.list = types.NewRefValList(types.DefaultTypeAdapter, values)
	}
	return c.list
}

// touches reports whether something changed at or below what the pattern names, which
// counts then even if it is noise.
func (c *comparison) touches(p change.Pattern) bool {
	known, asked := c.changed[p.String()]
	if asked {
		return known
	}
	o := c.compare
	o.Only = change.Patterns{p}
	found, simple := c.betweenParts(p.Fields(), o)
	if !simple {
		found = c.between(o)
	}
	c.changed[p.String()] = len(found) > 0
	return len(found) > 0
}

// betweenParts returns the changes in what the fields lead to, without decoding the rest.
// It is false where that does not do: items of lists may be known by what managed fields
// say.
func (c *comparison) betweenParts(fields []string, o change.Options) (found []change.Change, ok bool) {
	if c.was == nil {
		return nil, true
	}
	c.was.value()
	c.is.value()
	was, known := c.was.lazy.textAt(fields)
	is, too := c.is.lazy.textAt(fields)
	switch {
	case !known || !too:
		return nil, false
	case was == is:
		return nil, true
	case len(fields) == 0 || strings.Contains(was, "[") || strings.Contains(is, "["):
		return nil, false
	}
	old, ok := partly(fields, was)
	new, fine := partly(fields, is)
	if !ok || !fine {
		return nil, false
	}
	return change.Between(old, new, o).Changes, true
}

// partly returns an object that has nothing but what the fields lead to, and not that if
// its text is empty.
func partly(fields []string, text string) (map[string]any, bool) {
	part := map[string]any{}
	if text != "" {
		var value any
		if utiljson.Unmarshal([]byte(text), &value) != nil {
			return nil, false
		}
		part[fields[len(fields)-1]] = value
	}
	for i := len(fields) - 2; i >= 0; i-- {
		part = map[string]any{fields[i]: part}
	}
	return part, true
}

// changeFields are the fields of a change, with their types.
var changeFields = map[string]*types.Type{
	"path":        types.StringType,
	"kind":        types.StringType,
	"old":         types.DynType,
	"new":         types.DynType,
	"manager":     types.StringType,
	"operation":   types.StringType,
	"subresource": types.StringType,
}

// changeValue returns a change for CEL: a map. What was added has no old, what was
// removed no new.
func changeValue(c *change.Change) ref.Val {
	value := map[string]any{
		"path":        c.Path.String(),
		"kind":        string(c.Kind),
		"manager":     c.Who.Manager,
		"operation":   c.Who.Operation,
		"subresource": c.Who.Subresource,
	}
	if c.Kind != change.Added {
		value["old"] = withNumbers(c.Old)
	}
	if c.Kind != change.Removed {
		value["new"] = withNumbers(c.New)
	}
	return types.NewStringInterfaceMap(types.DefaultTypeAdapter, value)
}

// withNumbers returns a value with its numbers as those of objects are.
func withNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return decodeNumber(string(v))
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, part := range v {
			m[name] = withNumbers(part)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, part := range v {
			list[i] = withNumbers(part)
		}
		return list
	}
	return v
}

// changeType is the type of an item of changes. It is a type of its own, so that a
// field that it does not have is found before anything is watched.
const changeType = "Change"

// provider knows, besides what another one knows, the type of a change.
type provider struct{ types.Provider }

// FindStructType implements types.Provider.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if name == changeType {
		return types.NewTypeTypeWithParam(types.NewObjectType(changeType)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if name != changeType {
		return p.Provider.FindStructFieldNames(name)
	}
	var names []string
	for field := range changeFields {
		names = append(names, field)
	}
	return names, true
}

// FindStructFieldType implements types.Provider.
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name != changeType {
		return p.Provider.FindStructFieldType(name, field)
	}
	t, there := changeFields[field]
	return &types.FieldType{Type: t}, there
}
