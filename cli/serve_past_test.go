package cli

import (
	"testing"
	"time"

	"dwatch/output/page"
	"dwatch/watcher/recording"
)

// TestExportFirst: a file shows first the last time of which all is known, of several clusters but for those whose
// recording ended long before, as dwatch serve does.
func TestExportFirst(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
	for name, test := range map[string]struct {
		until []int // up to when all is known of each cluster
		want  int
	}{
		"one":                           {[]int{58}, 58},
		"all is known":                  {[]int{60, 60}, 60},
		"one is not proven yet":         {[]int{60, 59}, 59},
		"one ended long ago":            {[]int{10, 60}, 60},
		"and another is not proven yet": {[]int{10, 59, 60}, 59},
		"all ended":                     {[]int{10, 30}, 30},
	} {
		known := page.Known{From: begin, To: at(60)}
		var all proofs
		for i, minutes := range test.until {
			cluster := string(rune('a' + i))
			all = append(all, &proven{
				recordedPart: &recordedPart{Recording: &recording.Recording{}, cluster: cluster},
				proof:        &recording.Proof{To: at(60)},
			})
			known.Gaps = append(known.Gaps, page.Gap{Cluster: cluster, From: at(-5), To: at(5)})
			if minutes < 60 {
				known.Gaps = append(known.Gaps, page.Gap{Cluster: cluster, From: at(minutes), To: at(60)})
			}
		}
		if got := all.first(known); !got.Equal(at(test.want)) {
			t.Errorf("%s: after %s, not %d minutes", name, got.Sub(begin), test.want)
		}
	}
}
