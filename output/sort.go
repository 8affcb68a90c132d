package output

import (
	"cmp"
	"fmt"
	"sort"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/util/jsonpath"

	"dwatch/watcher/event"
)

// Order is the sort key of a list.
type Order struct {
	path  *jsonpath.JSONPath
	field string
	reads members
}

// ParseOrder parses the value of --sort-by, a path for NormalizeJSONPath.
func ParseOrder(text string) (*Order, error) {
	field, err := NormalizeJSONPath(text)
	if err != nil {
		return nil, err
	}
	o := &Order{jsonpath.New("sorting").AllowMissingKeys(true), field, members{}.with(field)}
	if err := o.path.Parse(field); err != nil {
		return nil, err
	}
	return o, nil
}

// MayRead reports whether the sort key may depend on a member of a top-level member of an object, such as "metadata" and
// "managedFields". It returns false if o is nil.
func (o *Order) MayRead(member, nested string) bool {
	return o != nil && o.reads.mayContain(member, nested)
}

// sort sorts objects in the same order as kubectl, including that of equal objects. Objects without a value come first, and
// quantities are compared by value. It returns an error if no object has a value.
func (o *Order) sort(objects []event.Object) error {
	if len(objects) == 0 {
		return nil
	}
	some := false
	items := make([]sortable, len(objects))
	for i, object := range objects {
		items[i].object = object
		u, err := object.Decode()
		if err != nil {
			return err
		}
		values, err := o.path.FindResults(u.Object)
		if err != nil {
			return fmt.Errorf("--sort-by: %w", err)
		}
		if len(values) > 0 && len(values[0]) > 0 {
			items[i].found, some = true, true
			if v := values[0][0]; v.IsValid() && v.CanInterface() {
				items[i].value = v.Interface()
			}
		}
	}
	if !some {
		return fmt.Errorf("couldn't find any field with path %q in the list of objects", o.field)
	}
	var failed error
	sort.Slice(items, func(i, j int) bool { // slices.SortFunc would order equal objects differently
		a, b := items[i], items[j]
		if !a.found || !b.found {
			return !a.found
		}
		less, err := isLess(a.value, b.value)
		failed = cmp.Or(failed, err)
		return less
	})
	for i, item := range items {
		objects[i] = item.object
	}
	return failed
}

// sortable is an object with its sort key.
type sortable struct {
	object event.Object
	value  any
	found  bool
}

func isLess(a, b any) (bool, error) {
	switch a := a.(type) {
	case nil:
		return b != nil, nil
	case int64:
		switch b := b.(type) {
		case int64:
			return a < b, nil
		case float64:
			return float64(a) < b, nil
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return a < float64(b), nil
		case float64:
			return a < b, nil
		}
	case string:
		if b, ok := b.(string); ok {
			return isLessText(a, b), nil
		}
	}
	if b == nil {
		return false, nil
	}
	return false, fmt.Errorf("--sort-by: cannot compare %T and %T", a, b)
}

func isLessText(a, b string) bool {
	one, err := resource.ParseQuantity(a)
	if err != nil {
		return a < b
	}
	other, err := resource.ParseQuantity(b)
	if err != nil {
		return a < b
	}
	return one.Cmp(other) < 0
}
