package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"dwatch/watcher/event"
)

// addSelectors adds the selectors of r, as apimachinery writes them, with one sign
// for equality.
func addSelectors(s *event.Selection, r Request) error {
	label, err := labels.Parse(r.LabelSelector)
	if err != nil {
		return fmt.Errorf("invalid label selector %q: %w", r.LabelSelector, err)
	}
	field, err := fields.ParseSelector(r.FieldSelector)
	if err != nil {
		return fmt.Errorf("invalid field selector %q: %w", r.FieldSelector, err)
	}
	s.Labels, s.Fields = strings.ReplaceAll(label.String(), "==", "="), field.String()
	return nil
}
