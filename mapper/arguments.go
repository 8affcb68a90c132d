package mapper

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// Argument is a resource or an object to watch, as the user typed it.
type Argument struct {
	// Resource is a name for [Mapper.Resolve]. It is never empty.
	Resource string
	// Name is the name of an object. If empty, all objects of the resource are watched.
	Name string
}

func (a Argument) String() string {
	if a.Name == "" {
		return a.Resource
	}
	return a.Resource + "/" + a.Name
}

// ErrNoResource means that the user gave no resource.
var ErrNoResource = errors.New("no resource given")

// MixedFormsError is the error for a word among positional arguments of the form TYPE/NAME.
type MixedFormsError struct {
	Word    string
	IsFirst bool // Word is the first argument
	// Command is the command line before the arguments, such as "dwatch list". If empty, the message has examples without one.
	Command string
	// HasSubcommands is set if the first argument of Command may be a subcommand.
	HasSubcommands bool
}

func (e *MixedFormsError) Error() string {
	is, command := "is not TYPE/NAME", e.Command
	if e.IsFirst && e.HasSubcommands {
		is = fmt.Sprintf("is neither a command ('%s --help' lists them) nor TYPE/NAME", command)
	}
	if command != "" {
		command += " "
	}
	return fmt.Sprintf("%q %s: name each object as TYPE/NAME, as in '%spods/a pods/b', and all objects of a type with -r, as in '%[3]sdeploy/web -r pods'", e.Word, is, command)
}

// ParseArguments parses the values of the flag --resource and the positional arguments. Each value of the
// flag is a comma-separated list of TYPE and TYPE/NAME. The positional arguments have the forms of
// kubectl: TYPE[,TYPE...] [NAME...], or only TYPE/NAME. The result starts with the values of the flag,
// keeps their order and has no duplicates.
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

// HasTypeNamePairs reports whether any of the positional arguments is TYPE/NAME. Then all must be.
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

// commaError returns the error for a name with a comma. Only RBAC resources allow commas in names, so the user
// probably meant a list. args are TYPE[,TYPE...] NAME...
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

// parsePairs parses arguments that must all be TYPE/NAME.
func parsePairs(args []string) ([]Argument, error) {
	parsed, err := parseLists(args)
	plain := slices.IndexFunc(parsed, func(a Argument) bool { return a.Name == "" })
	if err != nil || plain < 0 {
		return parsed, err
	}
	if hint := kubectlHint(args[0]); hint != "" {
		return nil, fmt.Errorf("%q is not a resource: %s", args[0], hint)
	}
	return nil, &MixedFormsError{Word: parsed[plain].Resource, IsFirst: parsed[plain].Resource == args[0]}
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
				return nil, errors.New("a resource name is empty")
			case argument == Argument{}:
				return nil, fmt.Errorf("an item of the list %q is empty", list)
			}
			parsed = append(parsed, argument)
		}
	}
	return parsed, nil
}

// parseItem parses TYPE or TYPE/NAME. It returns the zero Argument for an empty item.
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

// checkName rejects names that are invalid or would change the path of a request.
func checkName(name string) error {
	if name == "" {
		return errors.New("an object name is empty")
	}
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		return fmt.Errorf("invalid name %q: %s", name, strings.Join(problems, ", "))
	}
	return nil
}

// unique removes duplicates.
func unique(arguments []Argument) []Argument {
	seen := make(map[Argument]bool, len(arguments))
	return slices.DeleteFunc(arguments, func(a Argument) bool {
		again := seen[a]
		seen[a] = true
		return again
	})
}
