package flags

import (
	"testing"

	"dwatch/watcher/event"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]event.Shard{"2/5": {Number: 2, Count: 5}, "1/1": {Number: 1, Count: 1}, "auto/3": {Count: 3}, "none/3": {Number: 4, Count: 3}, "1000/1000": {Number: 1000, Count: 1000}} {
		if got, err := parseShard(text); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "2", "/", "2/", "/5", "0/5", "6/5", "-1/5", "1/0", "a/5", "auto", "auto/", "auto/0", "1/2/3", "1/1001", "1/99999999999999999999", " 1/2"} {
		if got, err := parseShard(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestPodOrdinal checks that short and fully qualified host names of StatefulSet pods have an ordinal, and others none.
func TestPodOrdinal(t *testing.T) {
	for host, want := range map[string]int{"dwatch-0": 0, "shop-feed-12": 12, "dwatch-3.dwatch.ops.svc.cluster.local": 3} {
		if got, is := PodOrdinal(host); got != want || !is {
			t.Errorf("%s: %d, %t", host, got, is)
		}
	}
	for _, host := range []string{"", "laptop", "laptop-", "-1", "dwatch-x7f2k", "dwatch-1a", "dwatch-01", "dwatch-1000", "dwatch-5f7c9b-24567", "dwatch-99999999999"} {
		if got, is := PodOrdinal(host); is {
			t.Errorf("%q: %d", host, got)
		}
	}
}
