package change

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
)

// fields is what two states of an object say about their fields: which have
// managers, and how the items of lists are distinguished (metadata.managedFields;
// KEP-555, and the field sets of structured-merge-diff).
type fields struct {
	old, new map[string]any
	// The managed fields as text, where the objects come without.
	oldText, newText string
	parsed           bool
	before, after    []*entry
}

// entry is what one manager set by one operation through one version of the API.
type entry struct {
	manager, operation, version, subresource string

	time   string
	fields map[string]any // what it owns (fieldsV1), or
	text   string         // the same as JSON
	asked  int            // how often, before it is decoded
	was    *entry         // the same in the old object, nil if it is not there

	grown, changed answer // to hasGrown and hasChanged
}

// answer is one that takes long to find and is asked for with each change.
type answer struct{ known, yes bool }

func (a *answer) once(find func() bool) bool {
	if !a.known {
		a.known, a.yes = true, find()
	}
	return a.yes
}

// parse reads the managed fields of both objects, when they are first needed.
func (f *fields) parse() {
	if f.parsed {
		return
	}
	f.parsed = true
	f.before, f.after = entries(f.old, f.oldText), entries(f.new, f.newText)
	for _, e := range f.after {
		i := slices.IndexFunc(f.before, e.same)
		if i >= 0 {
			e.was = f.before[i]
		}
	}
}

func (e *entry) same(other *entry) bool {
	return e.manager == other.manager && e.operation == other.operation &&
		e.version == other.version && e.subresource == other.subresource
}

// entries reads the managed fields of an object, or those that are apart from it.
func entries(object map[string]any, apart string) []*entry {
	if apart != "" {
		return textEntries(apart)
	}
	metadata, _ := object["metadata"].(map[string]any)
	list, _ := metadata["managedFields"].([]any)
	found := make([]*entry, 0, len(list))
	for _, item := range list {
		m, _ := item.(map[string]any)
		e := &entry{}
		e.fields, _ = m["fieldsV1"].(map[string]any)
		e.manager, _ = m["manager"].(string)
		e.operation, _ = m["operation"].(string)
		e.version, _ = m["apiVersion"].(string)
		e.subresource, _ = m["subresource"].(string)
		e.time, _ = m["time"].(string)
		found = append(found, e)
	}
	return found
}

// at goes through what the field sets of old and new say of what the path leads to.
func (f *fields) at(path Path) iter.Seq[fieldSet] {
	f.parse()
	return func(yield func(fieldSet) bool) {
		for _, entries := range [][]*entry{f.after, f.before} {
			for _, e := range entries {
				set, ok := e.set(), true
				for _, s := range path {
					if set, ok = set.child(s); !ok {
						break
					}
				}
				if ok && !yield(set) {
					return
				}
			}
		}
	}
}

// listType returns the names of the keys of the list at the path, or that it is a
// set, as far as somebody manages items of it.
func (f *fields) listType(path Path) (keys []string, set bool) {
	least := ""
	for node := range f.at(path) {
		for name := range node.names() {
			set = set || strings.HasPrefix(name, "v:")
			if strings.HasPrefix(name, "k:") && (least == "" || name < least) {
				least = name
			}
		}
	}
	if least == "" {
		return nil, set
	}
	var key map[string]json.RawMessage
	if json.Unmarshal([]byte(least[len("k:"):]), &key) != nil {
		return nil, set
	}
	return slices.Sorted(maps.Keys(key)), false
}
