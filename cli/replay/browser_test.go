package replay

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/run"
	"dwatch/output"
	"dwatch/output/page"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// TestExportFirst: an exported page first shows the last time without gaps, as dwatch serve does. Clusters whose recording ended long
// before are ignored.
func TestExportFirst(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
	for name, test := range map[string]struct {
		until []int // the last proven minute of each cluster
		want  int
	}{
		"one":                           {[]int{58}, 58},
		"all is known":                  {[]int{60, 60}, 60},
		"one is not proven yet":         {[]int{60, 59}, 59},
		"one ended long ago":            {[]int{10, 60}, 60},
		"and another is not proven yet": {[]int{10, 59, 60}, 59},
		"all ended":                     {[]int{10, 30}, 30},
	} {
		known := page.Coverage{From: begin, To: at(60)}
		var all Proofs
		for i, minutes := range test.until {
			cluster := string(rune('a' + i))
			all = append(all, &partProof{
				part:  &part{Recording: &recording.Recording{}, cluster: cluster},
				proof: &recording.Proof{To: at(60)},
			})
			known.Gaps = append(known.Gaps, page.Gap{Cluster: cluster, From: at(-5), To: at(5)})
			if minutes < 60 {
				known.Gaps = append(known.Gaps, page.Gap{Cluster: cluster, From: at(minutes), To: at(60)})
			}
		}
		if got := all.First(known); !got.Equal(at(test.want)) {
			t.Errorf("%s: after %s, not %d minutes", name, got.Sub(begin), test.want)
		}
	}
}

// TestSettled: the time that is shown first is proven for all clusters, and not before the first list of one of them.
func TestSettled(t *testing.T) {
	configMaps := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", true)}
	begin := time.Unix(1_700_000_000, 0)
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	newPart := func(cluster string, began, synced, proven int) *part {
		dir, now := t.TempDir(), at(began)
		r, err := recording.OpenRecorder(dir)
		if err != nil {
			t.Fatal(err)
		}
		encode, err := output.NewEncoder(output.Options{})
		if err == nil {
			err = r.StartRun(recording.Options{
				EncodeEvent: encode, EncodeObject: event.Object.Raw, Now: func() time.Time { return now },
				DescribeResource: func(schema.GroupVersionResource) metav1.APIResource { return metav1.APIResource{} },
			}, recording.RunInfo{ClusterUID: cluster}, []event.Target{configMaps})
		}
		for _, e := range []event.Event{
			{Type: event.Synced, Target: configMaps, Time: at(synced)},
			{Type: event.Bookmark, Target: configMaps, Time: at(proven), Heard: at(proven)},
		} {
			if now = e.Time; err == nil {
				err = r.Deliver(t.Context(), []event.Event{e})
			}
		}
		if err == nil {
			err = r.Close()
		}
		read, readErr := recording.Read(t.Context(), recording.Dir(dir))
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		of := configMaps
		of.Cluster = cluster
		return &part{Recording: read, cluster: cluster, session: &run.Session{}, query: recording.Query{Targets: []event.Target{of}}}
	}
	for name, test := range map[string]struct{ us, want int }{
		"one was proven last before the other was read": {5, 20},
		"and after that": {12, 12},
	} {
		all := &Recording{parts: []*part{newPart("eu", 0, 10, 20), newPart("us", 1, 2, test.us)}}
		_, found, err := all.At(t.Context(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if got := found.settled(); !got.Equal(at(test.want)) {
			t.Errorf("%s: after %s, not %d s", name, got.Sub(begin), test.want)
		}
	}
}
