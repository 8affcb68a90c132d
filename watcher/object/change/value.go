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

// isZero reports whether a value is the number 0.
func isZero(v any) bool { return v == any(json.Number("0")) }

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// equal reports whether a and b have the same JSON text except for the order of fields: 1 and 1.0 are not equal.
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
		return true // the same map
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

// maxShort is the maximum number of characters that Abbreviate returns.
const maxShort = 40

// Abbreviate returns a value in at most 40 characters on one line: a string without quotes, a map or list as JSON.
// isWhole is true if the value is a scalar and was not shortened.
func Abbreviate(v any) (text string, isWhole bool) {
	if isWhole = isScalar(v); isWhole {
		text = scalarText(v)
	} else {
		text = encodeText(v)
	}
	if line := strings.Join(strings.Fields(text), " "); strings.ContainsAny(text, "\n\r\t") {
		text, isWhole = line, false
	}
	if runes := []rune(text); len(runes) > maxShort {
		return string(runes[:maxShort-1]) + "…", false
	}
	return text, isWhole
}

// sameMeaning reports whether two different scalars mean the same: equal numbers, or equal quantities at a path that
// contains a quantity.
func sameMeaning(path Path, a, b any) bool {
	m, isNumber := a.(json.Number)
	n, too := b.(json.Number)
	if isNumber && too {
		d, ok := parseDecimal(string(m))
		e, okToo := parseDecimal(string(n))
		return ok && okToo && d == e
	}
	if !quantities().Match(path) {
		return false
	}
	q, err := resource.ParseQuantity(scalarText(a))
	r, errToo := resource.ParseQuantity(scalarText(b))
	return err == nil && errToo == nil && q.Cmp(r) == 0
}

// quantities are the paths in built-in kinds, and in kinds that follow their conventions, whose values are certainly a
// resource.Quantity. Elsewhere, "1.0" may be a version.
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

// decimal is digits, without zeros at either end, times ten to the power of exponent. Equal numbers are equal decimals.
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
	d.exponent += int64(len(whole) - len(d.digits)) // position of the last remaining digit
	if d.digits = strings.TrimLeft(d.digits, "0"); d.digits == "" {
		return decimal{}, true
	}
	return d, true
}
