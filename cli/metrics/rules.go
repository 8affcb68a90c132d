package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Rule is one of several whose runs are measured each by itself.
type Rule struct {
	Name string
	*Metrics
}

// ListenRules is Listen for at least one rule: each has its metrics with a label that names it, and the whole is well
// and ready when each rule is.
func ListenRules(address string, rules []Rule) (*Server, error) {
	r := processRegistry(rules[0].Version)
	for _, one := range rules {
		prometheus.WrapRegistererWith(labels{"rule": one.Name}, r).MustRegister(collector{one.Metrics})
	}
	all := func(is func(*Metrics) error) func() error {
		return func() error {
			for _, one := range rules {
				if err := is(one.Metrics); err != nil {
					return fmt.Errorf("rule %s: %w", one.Name, err)
				}
			}
			return nil
		}
	}
	return listen(address, answers(r, all((*Metrics).Healthy), all((*Metrics).Ready)))
}
