package mapper

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// Argument is one thing to watch, as typed.
type Argument struct {
	// Resource is what Resolve takes; never empty.
	Resource string
	// Name is the one object to watch; empty for all of them.
	Name string
}

func (a Argument) String() string {
	if a.Name == "" {
		return a.Resource
	}
	return a.Resource + "/" + a.Name
}

var (
	// ErrNoResource is the error where nothing is named.
	ErrNoResource = errors.New("no resource given: say what to watch")
	errMixedForms = errors.New("TYPE/NAME does not go with TYPE alone, or with NAME alone: to watch all of a type besides, give that with -r, " +
		"as in 'dwatch deploy/web -r pods'; else give each object as TYPE/NAME, as in 'dwatch pods/a pods/b'")
)

// ParseArguments reads the values of the resource flag and the positional arguments. A value of the
// flag is a list, separated by commas, of TYPE and TYPE/NAME. The positional arguments are
// kubectl's: TYPE[,TYPE...] [NAME...], or nothing but TYPE/NAME. The result has those of the flag
// first, each in the order given and once.
func ParseArguments(resources, args []string) ([]Argument, error) {
	parsed, err := parseLists(resources)
	if err != nil {
		return nil, err
	}
	positional, err := parsePositional(args)
	if err != nil {
		return nil, err
	}
	if parsed = unique(append(parsed, positional...)); len(parsed) == 0 {
		return nil, ErrNoResource
	}
	return parsed, nil
}

// HasPairs reports whether the positional arguments are TYPE/NAME: if one is, all have to be.
func HasTypeNamePairs(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "/") })
}

func parsePositional(args []string) ([]Argument, error) {
	switch {
	case len(args) == 0:
		return nil, nil
	case HasTypeNamePairs(args):
		return parsePairs(args)
	}
	types, err := parseLists(args[:1])
	if err != nil {
		return nil, err
	}
	names := args[1:]
	if len(names) == 0 {
		return types, nil
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, ",") }); i >= 0 {
		return nil, commaError(names[i], args)
	}
	var parsed []Argument
	for _, t := range types {
		for _, name := range names {
			if err := checkName(name); err != nil {
				return nil, err
			}
			parsed = append(parsed, Argument{Resource: t.Resource, Name: name})
		}
	}
	return parsed, nil
}

// commaError refuses a name with a comma, which of all resources only those of RBAC
// allow: a list is what is meant. args are TYPE[,TYPE...] NAME...
func commaError(name string, args []string) error {
	comma := func(r rune) bool { return r == ',' }
	names := strings.FieldsFunc(strings.Join(args[1:], ","), comma)
	var pairs []string
	for _, t := range strings.FieldsFunc(args[0], comma) {
		for _, n := range names {
			pairs = append(pairs, t+"/"+n)
		}
	}
	if len(pairs) == 0 {
		return fmt.Errorf("invalid name %q: names are separated by spaces", name)
	}
	return fmt.Errorf("invalid name %q: names are separated by spaces, as in %q, or come with their type, as in %q",
		name, args[0]+" "+strings.Join(names, " "), strings.Join(pairs, ","))
}

// parsePairs reads arguments of which at least one is TYPE/NAME, so all must be.
func parsePairs(args []string) ([]Argument, error) {
	parsed, err := parseLists(args)
	if err != nil || !slices.ContainsFunc(parsed, func(a Argument) bool { return a.Name == "" }) {
		return parsed, err
	}
	// kubectl's wording would send somebody with kubectl's habits the wrong way.
	if text := instead(args[0]); text != "" {
		return nil, fmt.Errorf("%q is no resource: %s", args[0], text)
	}
	return nil, errMixedForms
}

func parseLists(lists []string) ([]Argument, error) {
	var parsed []Argument
	for _, list := range lists {
		for item := range strings.SplitSeq(list, ",") {
			argument, err := parseItem(item)
			switch {
			case err != nil:
				return nil, err
			case argument == Argument{} && list == "":
				return nil, errors.New(`a resource is empty: "" names nothing`)
			case argument == Argument{}:
				return nil, fmt.Errorf("an item of the list %q is empty", list)
			}
			parsed = append(parsed, argument)
		}
	}
	return parsed, nil
}

// parseItem reads TYPE or TYPE/NAME. The empty item is the zero Argument.
func parseItem(item string) (Argument, error) {
	resource, name, pair := strings.Cut(item, "/")
	switch {
	case !pair:
		return Argument{Resource: resource}, nil
	case strings.Contains(name, "/"):
		return Argument{}, fmt.Errorf("%q: arguments in resource/name form may not have more than one slash", item)
	case resource == "" || name == "":
		return Argument{}, fmt.Errorf("%q: arguments in resource/name form must have a single resource and name", item)
	}
	return Argument{Resource: resource, Name: name}, checkName(name)
}

// checkName refuses what would be no name, or another place in the server's URLs.
func checkName(name string) error {
	if name == "" {
		return errors.New(`a name is empty: "" names nothing`)
	}
	if wrong := content.IsPathSegmentName(name); len(wrong) > 0 {
		return fmt.Errorf("invalid name %q: %s", name, strings.Join(wrong, ", "))
	}
	return nil
}

func unique(arguments []Argument) []Argument {
	seen := make(map[Argument]bool, len(arguments))
	return slices.DeleteFunc(arguments, func(a Argument) bool {
		again := seen[a]
		seen[a] = true
		return again
	})
}
