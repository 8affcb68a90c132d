package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"

	"dwatch/watcher/event"
)

// addSelectors adds the selectors of r, in canonical form.
func addSelectors(s *event.Selection, r Request) (err error) {
	if s.Labels, err = canonicalLabels(r.LabelSelector); err != nil {
		return fmt.Errorf("invalid label selector %q: %w", r.LabelSelector, err)
	}
	if s.Fields, err = canonicalFields(r.FieldSelector); err != nil {
		return fmt.Errorf("invalid field selector %q: %w", r.FieldSelector, err)
	}
	return nil
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
