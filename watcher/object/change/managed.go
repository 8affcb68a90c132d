package change

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// fields contains the managed fields of two states of an object. They show who owns a field, and which keys identify list
// items (KEP-555, and the field sets of structured-merge-diff).
type fields struct {
	old, new        string // managed fields as JSON
	distinctObjects bool   // Options.DistinctObjects
	parsed          bool
	before, after   []*entry
}

// entry is an entry of the managed fields: the fields that one manager set by one operation through one API version.
type entry struct {
	manager, operation, version, subresource, time string

	set *fieldSet
	// The differences from the same entry of the old object, see fields.parse.
	isNew, hasNewTime, hasGrown, hasShrunk bool
}

func managedFieldsOf(object string) gjson.Result { return gjson.Get(object, "metadata.managedFields") }

// replace replaces a part of the text, which gjson found, by another text.
func replace(text string, part gjson.Result, other string) string {
	if !part.Exists() {
		return text
	}
	return text[:part.Index] + other + text[part.Index+len(part.Raw):]
}

// parse decodes the managed fields of both objects at the first call.
func (f *fields) parse() {
	if f.parsed {
		return
	}
	f.parsed = true
	f.before, f.after = entries(f.old), entries(f.new)
	for _, e := range f.after {
		i := slices.IndexFunc(f.before, e.same)
		if e.isNew = i < 0; e.isNew {
			e.hasNewTime, e.hasGrown = e.time != "", true
			continue
		}
		was := f.before[i]
		e.hasNewTime = e.time != "" && e.time != was.time
		e.hasGrown = !e.set.isSubsetOf(was.set, maxDepth)
		e.hasShrunk = !was.set.isSubsetOf(e.set, maxDepth)
	}
}

func (e *entry) same(other *entry) bool {
	return e.manager == other.manager && e.operation == other.operation &&
		e.version == other.version && e.subresource == other.subresource
}

func entries(managedFields string) (found []*entry) {
	gjson.Parse(managedFields).ForEach(func(_, item gjson.Result) bool {
		m := members(item)
		text := func(name string) string { return gjson.Parse(m[name]).Str }
		found = append(found, &entry{
			manager: text("manager"), operation: text("operation"), version: text("apiVersion"),
			subresource: text("subresource"), time: text("time"), set: &fieldSet{text: m["fieldsV1"]},
		})
		return true
	})
	return found
}

// fieldSet is the set of fields that a manager owns, or a part of the set (fieldsV1, KEP-555). Its parts are decoded on
// demand, because few are used.
type fieldSet struct {
	text   string
	cached map[string]*fieldSet
}

// parts returns the direct parts of the set by name.
func (s *fieldSet) parts() map[string]*fieldSet {
	if s.cached == nil {
		s.cached = map[string]*fieldSet{}
		gjson.Parse(s.text).ForEach(func(name, value gjson.Result) bool {
			s.cached[name.Str] = &fieldSet{text: value.Raw}
			return true
		})
	}
	return s.cached
}

// hasParts reports whether the set contains more parts than ".", which stands for the value itself.
func (s *fieldSet) hasParts() bool {
	_, itself := s.parts()["."]
	return len(s.parts()) > 1 || len(s.parts()) == 1 && !itself
}

// descend returns the part of the set for a step, or nil if there is none.
func (s *fieldSet) descend(to Step) *fieldSet {
	switch {
	case s == nil:
		return nil
	case to.Item == nil:
		return s.parts()["f:"+to.Field]
	}
	return s.parts()[to.Item.managed]
}

// ownsItself reports whether the manager owns the value of this set itself, not only parts of it: the set is {} or
// contains ".".
func (s *fieldSet) ownsItself() bool {
	_, itself := s.parts()["."]
	return itself || len(s.parts()) == 0
}

// isSubsetOf reports whether the other set contains all of this set. Below depth levels, the sets must be equal.
func (s *fieldSet) isSubsetOf(whole *fieldSet, depth int) bool {
	if s.text == whole.text || depth == 0 {
		return s.text == whole.text
	}
	for name, part := range s.parts() {
		if other := whole.parts()[name]; other == nil || !part.isSubsetOf(other, depth-1) {
			return false
		}
	}
	return true
}

// fieldSetsAt returns the field sets for the value at the path, of all managers, of the new object and then of the old.
func (f *fields) fieldSetsAt(path Path) (found []*fieldSet) {
	f.parse()
	for _, e := range slices.Concat(f.after, f.before) {
		set := e.set
		for _, step := range path {
			set = set.descend(step)
		}
		if set != nil {
			found = append(found, set)
		}
	}
	return found
}

// listType returns the keys of the list at the path, or whether it is a set, according to its items in the field sets.
func (f *fields) listType(path Path) (keys []string, set bool) {
	least := ""
	for _, list := range f.fieldSetsAt(path) {
		for name := range list.parts() {
			set = set || strings.HasPrefix(name, "v:")
			if strings.HasPrefix(name, "k:") && (least == "" || name < least) {
				least = name
			}
		}
	}
	var key map[string]json.RawMessage
	if least == "" || json.Unmarshal([]byte(least[len("k:"):]), &key) != nil {
		return nil, set
	}
	return slices.Sorted(maps.Keys(key)), false
}
