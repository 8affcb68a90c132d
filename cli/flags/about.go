package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/mapper"
	"dwatch/watcher/until"
)

// About is which object the Events that are watched are about; nil if the flag is not given.
func About(to **mapper.Argument) Adder {
	return func(f *pflag.FlagSet) {
		f.String("for", "", "Of Events, watch those about `TYPE/NAME` and what it owns, e.g. deploy/web with its replica sets and pods")
		takes(f, "for", func(text string) (err error) {
			*to, err = parseAbout(text)
			return invalid("for", text, err)
		})
		notEmpty(f, "for")
	}
}

func parseAbout(text string) (*mapper.Argument, error) {
	if slices.Contains(until.Quantifiers, text) {
		return nil, fmt.Errorf("it takes the object that Events are about, e.g. deploy/web; of how many objects --until has to hold is said by --until-for %s", text)
	}
	if condition, _, is := strings.Cut(text, "="); is || condition == "delete" || condition == "create" {
		return nil, fmt.Errorf("it takes the object that Events are about, e.g. deploy/web; to wait for that say dwatch wait TYPE/NAME --for %s", text)
	}
	parsed, err := mapper.ParseArguments([]string{text}, nil)
	if err != nil {
		return nil, err
	}
	if len(parsed) != 1 || parsed[0].Name == "" {
		return nil, errors.New("it takes one object as TYPE/NAME, e.g. deploy/web")
	}
	return &parsed[0], nil
}
