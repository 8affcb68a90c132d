package change

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// fields is what two states of an object say of their fields' managers, and so of what
// distinguishes the items of lists (KEP-555, and the field sets of structured-merge-diff).
type fields struct {
	old, new      string // the managed fields, as JSON
	apart         bool   // of two objects
	parsed        bool
	before, after []*entry
}

// entry is what one manager set by one operation through one version of the API.
type entry struct {
	manager, operation, version, subresource, time string

	set *fieldSet
	// In comparison with the same entry of the old object, if that has it.
	isNew, hasNewTime, hasGrown, hasShrunk bool
}

func managedFieldsOf(object string) gjson.Result { return gjson.Get(object, "metadata.managedFields") }

// replace returns a text with another one in the place of a part that was found in it.
func replace(text string, part gjson.Result, other string) string {
	if !part.Exists() {
		return text
	}
	return text[:part.Index] + other + text[part.Index+len(part.Raw):]
}

// parse reads the managed fields of both objects, when they are first needed.
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
		e.hasGrown = !e.set.within(was.set, maxDepth)
		e.hasShrunk = !was.set.within(e.set, maxDepth)
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

// fieldSet is what a manager owns, or a part of it (fieldsV1; KEP-555). Its parts are found
// in the text when the first is asked for: few are.
type fieldSet struct {
	text  string
	known map[string]*fieldSet
}

// parts returns those of the set by their names.
func (s *fieldSet) parts() map[string]*fieldSet {
	if s.known == nil {
		s.known = map[string]*fieldSet{}
		gjson.Parse(s.text).ForEach(func(name, value gjson.Result) bool {
			s.known[name.Str] = &fieldSet{text: value.Raw}
			return true
		})
	}
	return s.known
}

// hasParts reports whether the set names something below the part that it is of. "." is that part.
func (s *fieldSet) hasParts() bool {
	_, itself := s.parts()["."]
	return len(s.parts()) > 1 || len(s.parts()) == 1 && !itself
}

// child returns what the set says of what one step leads to; nil if that is nothing.
func (s *fieldSet) child(to Step) *fieldSet {
	switch {
	case s == nil:
		return nil
	case to.Item == nil:
		return s.parts()["f:"+to.Field]
	}
	return s.parts()[to.Item.managed]
}

// ownsItself reports whether the set is of a part that is owned itself, and not only
// parts of it: it is {} or has ".".
func (s *fieldSet) ownsItself() bool {
	_, itself := s.parts()["."]
	return itself || len(s.parts()) == 0
}

// within reports whether the set is a part of another one, so many levels deep.
func (s *fieldSet) within(whole *fieldSet, depth int) bool {
	if s.text == whole.text || depth == 0 {
		return s.text == whole.text
	}
	for name, part := range s.parts() {
		if other := whole.parts()[name]; other == nil || !part.within(other, depth-1) {
			return false
		}
	}
	return true
}

// at returns what the field sets of old and new say of what the path leads to.
func (f *fields) at(path Path) (found []*fieldSet) {
	f.parse()
	for _, e := range slices.Concat(f.after, f.before) {
		set := e.set
		for _, step := range path {
			set = set.child(step)
		}
		if set != nil {
			found = append(found, set)
		}
	}
	return found
}

// listType returns the names of the keys of the list at the path, or that it is a
// set, as far as somebody manages items of it.
func (f *fields) listType(path Path) (keys []string, set bool) {
	least := ""
	for _, list := range f.at(path) {
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
