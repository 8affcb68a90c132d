package until

import (
	"errors"
	"slices"
)

// Quantifier says of how many objects a condition has to hold.
type Quantifier string

const (
	// All that exist, at the same time, and at least one. Each object that is named has
	// to exist. An object of whose deletion the condition holds has done its part.
	All Quantifier = "all"
	// Any one.
	Any Quantifier = "any"
	// Each that exists has held once, at whatever time.
	Each Quantifier = "each"
)

// Quantifiers are all of them, as words.
var Quantifiers = []string{string(All), string(Any), string(Each)}

// ParseQuantifier reads a word.
func ParseQuantifier(word string) (Quantifier, error) {
	if slices.Contains(Quantifiers, word) {
		return Quantifier(word), nil
	}
	return "", errors.New("it takes all, any or each")
}
