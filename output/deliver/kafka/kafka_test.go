package kafka

import (
	"strings"
	"testing"
)

// TestCheckTopic checks that names of topics that brokers reject are detected without a broker.
func TestCheckTopic(t *testing.T) {
	for topic, good := range map[string]bool{
		"k8s": true, "k8s.events_A-1": true, strings.Repeat("a", 249): true,
		"": false, ".": false, "..": false, "a/b": false, "a b": false, "ä": false, "a\n": false, strings.Repeat("a", 250): false,
	} {
		if err := CheckTopic(topic); (err == nil) != good {
			t.Errorf("%q: %v", topic, err)
		}
	}
}
