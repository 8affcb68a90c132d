package change

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Managers returns the names of the field managers that own fields of an object (JSON), sorted. It omits
// ancient-changes, which stands for several managers.
func Managers(object string) (names []string) {
	managedFieldsOf(object).ForEach(func(_, entry gjson.Result) bool {
		if name := entry.Get("manager").String(); name != "" && name != ancientManager && !slices.Contains(names, name) {
			names = append(names, strings.Clone(name))
		}
		return true
	})
	slices.Sort(names)
	return names
}
