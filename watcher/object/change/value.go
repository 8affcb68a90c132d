package change

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// jsonType is what JSON calls a value.
type jsonType int

const (
	jsonNull jsonType = iota
	jsonBoolean
	jsonNumber
	jsonString
	jsonList
	jsonMap
)

func typeOf(v any) jsonType {
	switch v.(type) {
	case nil:
		return jsonNull
	case bool:
		return jsonBoolean
	case string:
		return jsonString
	case []any:
		return jsonList
	case map[string]any:
		return jsonMap
	}
	return jsonNumber
}

// isZero reports whether a value is the number 0.
func isZero(v any) bool { return typeOf(v) == jsonNumber && scalarText(v) == "0" }

func isScalar(v any) bool { return typeOf(v) < jsonList }

// equal reports whether a and b are written as the same JSON. So 1 and 1.0, as
// json.Number holds them apart, are not equal.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && equalMaps(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && equalLists(a, b)
	}
	return a == b
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	if reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer() {
		return true // one map
	}
	for name, value := range a {
		if other, there := b[name]; !there || !equal(value, other) {
			return false
		}
	}
	return true
}

func equalLists(a, b []any) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.EqualFunc(a, b, equal))
}

// scalarText returns a scalar without quotes.
func scalarText(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case json.Number:
		return string(v)
	}
	return fmt.Sprint(v)
}

// sameMeaning reports whether two scalars that are not equal mean the same: the
// same number, or at a path that holds a quantity, the same quantity.
func sameMeaning(path Path, a, b any) bool {
	if typeOf(a) == jsonNumber && typeOf(b) == jsonNumber {
		d, ok := parseDecimal(scalarText(a))
		e, okToo := parseDecimal(scalarText(b))
		if ok && okToo {
			return d == e
		}
	}
	if typeOf(a) != jsonString && typeOf(b) != jsonString || !quantities().Match(path) {
		return false
	}
	q, err := resource.ParseQuantity(scalarText(a))
	r, errToo := resource.ParseQuantity(scalarText(b))
	return err == nil && errToo == nil && q.Cmp(r) == 0
}

// quantities are the paths of the built-in kinds, and of what follows them, at
// which a resource.Quantity is sure. Elsewhere "1.0" may be a version.
var quantities = sync.OnceValue(func() Patterns {
	return mustParse(
		"..resources.requests.*", "..resources.limits.*", "spec.overhead.*", "..podTemplate.overhead.*",
		"spec.capacity.*", "status.capacity.*", "status.allocatable.*", "status.allocatedResources.*",
		"..allocatedResources.*", "spec.hard.*", "status.hard.*", "status.used.*",
		"spec.limits[*].min.*", "spec.limits[*].max.*", "spec.limits[*].default.*",
		"spec.limits[*].defaultRequest.*", "spec.limits[*].maxLimitRequestRatio.*",
		"..emptyDir.sizeLimit", "..target.averageValue", "..target.value", "..current.averageValue", "..current.value",
		"..resourceFieldRef.divisor",
	)
})

// decimal is a number as digits without zeros at either end, times ten to the
// power of exponent. Equal numbers are equal decimals.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

// parseDecimal reads a JSON number of any size and precision.
func parseDecimal(text string) (d decimal, ok bool) {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(text), "e")
	if hasExponent {
		var err error
		if d.exponent, err = strconv.ParseInt(exponent, 10, 32); err != nil {
			return d, false
		}
	}
	mantissa, d.negative = strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if !isDigits(whole + fraction) {
		return d, false
	}
	d.digits = strings.TrimRight(whole+fraction, "0")
	d.exponent += int64(len(whole) - len(d.digits)) // of the last digit that is left
	if d.digits = strings.TrimLeft(d.digits, "0"); d.digits == "" {
		return decimal{}, true
	}
	return d, true
}
