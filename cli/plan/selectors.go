package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"
)

// WithSelectors returns s with a label and a field selector, each of which may be
// empty, in canonical form.
func (s Selection) WithSelectors(labelSelector, fieldSelector string) (_ Selection, err error) {
	if s.Labels, err = canonicalLabels(labelSelector); err != nil {
		return Selection{}, fmt.Errorf("invalid label selector %q: %w", labelSelector, err)
	}
	if s.Fields, err = canonicalFields(fieldSelector); err != nil {
		return Selection{}, fmt.Errorf("invalid field selector %q: %w", fieldSelector, err)
	}
	return s, nil
}

// canonicalLabels writes = for == and for "in" one value, and != for "notin" one.
func canonicalLabels(text string) (string, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return "", err
	}
	requirements, _ := selector.Requirements()
	var terms []string
	for _, r := range requirements {
		operator, values := r.Operator(), r.Values()
		switch one := values.Len() == 1; {
		case operator == operators.DoubleEquals, operator == operators.In && one:
			operator = operators.Equals
		case operator == operators.NotIn && one:
			operator = operators.NotEquals
		}
		same, err := labels.NewRequirement(r.Key(), operator, values.UnsortedList())
		if err != nil {
			return "", err
		}
		terms = append(terms, same.String())
	}
	return strings.Join(sorted(terms), ","), nil
}

func canonicalFields(text string) (string, error) {
	selector, err := fields.ParseSelector(text)
	if err != nil {
		return "", err
	}
	var terms []string
	for _, r := range selector.Requirements() {
		term := fields.OneTermEqualSelector(r.Field, r.Value)
		if r.Operator == operators.NotEquals {
			term = fields.OneTermNotEqualSelector(r.Field, r.Value)
		}
		terms = append(terms, term.String())
	}
	return strings.Join(sorted(terms), ","), nil
}
