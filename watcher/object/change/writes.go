package change

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Write is the last write of one entry of the managed fields: of one manager by one operation, to one subresource.
type Write struct {
	Writer
	// OwnedFields contains the fields of the object that the manager owns and whose values it wrote,
	// with the keys of list items. Base is OwnedFields without those values, so the difference
	// between the two is what the manager wrote. Both are nil if it wrote in another API version.
	OwnedFields, Base map[string]any
}

// placeholderManagers are names that the server invents for entries of other managers.
var placeholderManagers = []string{ancientManager, "before-first-apply"}

// LastWrites returns the last write of each field manager of an object, which is valid JSON: one for
// each entry of metadata.managedFields, except those of placeholderManagers. It returns nil if the
// object has no managed fields. The server records the time of an entry in whole seconds.
// It records no time for writes to the subresource scale, whose Time is zero.
//
// The manager may have set some of its fields in an earlier write, and it may have removed others in
// the last one. The values in OwnedFields have not changed since, but the server may have defaulted
// them, and admission may have changed them, in the same request.
//
// A manager that owns a map or list does not always own its fields or items, and the managed fields
// do not show whether it does. LastWrites then leaves the value out. It returns an item or list if no
// other manager owns a part of it, and a map only if the map is always atomic.
func LastWrites(object string) (writes []Write) {
	managed := managedFieldsOf(object)
	if !managed.Exists() {
		return nil
	}
	content := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(object))
	decoder.UseNumber()
	if decoder.Decode(&content) != nil {
		return nil
	}
	apiVersion, _ := content["apiVersion"].(string)
	all := entries(managed.Raw)
	for i, e := range all {
		at, err := time.Parse(time.RFC3339, e.time)
		if err != nil && e.time != "" || slices.Contains(placeholderManagers, e.manager) {
			continue
		}
		w := Write{Writer: Writer{Manager: e.manager, Operation: e.operation, Subresource: e.subresource, Time: at.UTC()}}
		if e.version == apiVersion {
			o := ownership{set: e.set, builtIn: isBuiltIn(apiVersion)}
			for j, other := range all {
				o.mixedVersions = o.mixedVersions || other.version != e.version
				if j != i {
					o.others = append(o.others, other.set)
				}
			}
			w.OwnedFields, w.Base = o.ofMap(content)
		}
		writes = append(writes, w)
	}
	return writes
}

// isBuiltIn reports whether the types of an API version are certainly built in, so that the names of
// their fields say which maps are atomic. It returns false for most built-in groups with a dot in their
// name, as the groups of custom resources have.
func isBuiltIn(apiVersion string) bool {
	group, _, found := strings.Cut(apiVersion, "/")
	return !found || !strings.Contains(group, ".") || group == "networking.k8s.io" || group == "rbac.authorization.k8s.io"
}

// ownership is what the managed fields say of one part of an object.
type ownership struct {
	field   string      // the name of the part, if it is a field
	set     *fieldSet   // of the manager
	others  []*fieldSet // of all other entries that own this part, or something in it
	builtIn bool        // the object is of a built-in type
	// mixedVersions is true if entries are in different API versions. In another version, this part
	// may have another path.
	mixedVersions bool
}

// child returns the ownership of a part of this part, by its name in the field sets.
func (o ownership) child(name string, set *fieldSet) ownership {
	field, _ := strings.CutPrefix(name, "f:")
	inner := ownership{field: field, set: set, builtIn: o.builtIn, mixedVersions: o.mixedVersions}
	for _, other := range o.others {
		if part := other.parts()[name]; part != nil {
			inner.others = append(inner.others, part)
		}
	}
	return inner
}

// of returns the part of value that the manager owns, and the same without values. Either is nil if
// there is nothing to return.
func (o ownership) of(value any) (owned, base any) {
	if !o.set.hasParts() {
		if o.isWhole(value) {
			return value, nil
		}
		return nil, nil
	}
	switch value := value.(type) {
	case map[string]any:
		return o.ofMap(value)
	case []any:
		return o.ofList(value)
	}
	return nil, nil // the value has another type in this API version
}

// isWhole reports whether a manager that owns this part, and nothing in particular in it, wrote all of value. That is the
// case for scalars except null, which the server writes if it removes all fields of a map. A map or list may have been
// created by the manager and filled by others: by managers that own parts of it now, or by defaulting and admission,
// which leave no owner. It may also have been emptied.
func (o ownership) isWhole(value any) bool {
	if isScalar(value) {
		return value != nil
	}
	if o.mixedVersions || slices.ContainsFunc(o.others, (*fieldSet).hasParts) {
		return false
	}
	switch value := value.(type) {
	case []any:
		return len(value) > 0 // lists are atomic unless the schema declares them to be a map or set
	case map[string]any:
		return len(value) > 0 && (o.isItem() || o.builtIn && isAtomicMap(o.field))
	}
	return false
}

// isItem reports whether the part is an item of a list with keys. A manager that adds an item whose
// fields have owners of their own owns its keys too, so an item without parts is atomic.
func (o ownership) isItem() bool { return strings.HasPrefix(o.field, "k:") }

// isAtomicMap reports whether a field of a built-in type is a map that is always written as a whole.
// Selectors and references are.
func isAtomicMap(field string) bool {
	return field == "selector" || strings.HasSuffix(field, "Selector") || strings.HasSuffix(field, "Ref")
}

func (o ownership) ofMap(members map[string]any) (owned, base map[string]any) {
	owned, base = map[string]any{}, map[string]any{}
	for name, part := range o.set.parts() {
		field, isField := strings.CutPrefix(name, "f:")
		value, found := members[field]
		if !isField || !found {
			continue
		}
		inner, without := o.child(name, part).of(value)
		if inner != nil {
			owned[field] = inner
		}
		if without != nil {
			base[field] = without
		}
	}
	return owned, base
}

func (o ownership) ofList(items []any) (owned, base []any) {
	owned, base = []any{}, []any{}
	for i, item := range items {
		for name, part := range o.set.parts() {
			keys, found := itemKeys(name, item)
			if !found || isDuplicate(name, items, i) {
				continue
			}
			inner, without := o.child(name, part).of(item)
			if inner == nil {
				break
			}
			addKeys(inner, item, keys)
			addKeys(without, item, keys)
			owned = append(owned, inner)
			if without != nil {
				base = append(base, without)
			}
			break
		}
	}
	return owned, base
}

// isDuplicate reports whether another item of the list has the same keys as items[i]. The managed
// fields then do not say which of the two they mean.
func isDuplicate(name string, items []any, i int) bool {
	for j, other := range items {
		if _, found := itemKeys(name, other); found && j != i && strings.HasPrefix(name, "k:") {
			return true
		}
	}
	return false
}

// itemKeys returns the keys in the name that a field set has for an item. found is false if the name is for another item.
func itemKeys(name string, item any) (keys []string, found bool) {
	if strings.HasPrefix(name, "v:") {
		return nil, id(nil, item) == name
	}
	text, isKeyed := strings.CutPrefix(name, "k:")
	var key map[string]json.RawMessage
	if !isKeyed || json.Unmarshal([]byte(text), &key) != nil {
		return nil, false
	}
	for k := range key {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys, id(keys, item) == name
}

// addKeys copies the keys of an item to part, a part of that item.
func addKeys(part, item any, keys []string) {
	to, isMap := part.(map[string]any)
	from, _ := item.(map[string]any)
	if !isMap {
		return
	}
	for _, key := range keys {
		if value, found := from[key]; found {
			to[key] = value
		}
	}
}
