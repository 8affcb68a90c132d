package change

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Managers returns the names of those who have set fields of an object, given as JSON, that still
// stand, sorted; whoever they were, as Who has it.
func Managers(object string) (names []string) {
	managedFieldsOf(object).ForEach(func(_, entry gjson.Result) bool {
		if name := entry.Get("manager").String(); name != "" && name != oldest && !slices.Contains(names, name) {
			names = append(names, strings.Clone(name))
		}
		return true
	})
	slices.Sort(names)
	return names
}
