package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// TestWitness checks that the states before a delivered state are required, no matter which run delivers them. Later
// states and initial events are not required.
func TestWitness(t *testing.T) {
	const end = `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5","annotations":{"k8s.io/initial-events-end":"true"}}}}`
	frame := func(version int) string {
		return fmt.Sprintf(`{"type":"MODIFIED","object":{"metadata":{"uid":"a","resourceVersion":"%d"}}}`, version)
	}
	for name, test := range map[string]struct {
		kind   kind
		frames []string
		// delivered are the versions that each run has delivered.
		delivered map[string][]string
		missing   []state
		seen      int
	}{
		"all":                {resume, []string{frame(1), frame(2)}, map[string][]string{"web-1": {"1", "2"}}, nil, 2},
		"one in between":     {resume, []string{frame(1), frame(2), frame(3)}, map[string][]string{"web-1": {"1", "3"}}, []state{{"a", "2"}}, 3},
		"by a later run":     {resume, []string{frame(1), frame(2)}, map[string][]string{"web-1": {"2"}, "web-2": {"1"}}, nil, 2},
		"not the last":       {resume, []string{frame(1), frame(2), frame(3)}, map[string][]string{"web-1": {"1"}, "web-2": {"3"}}, nil, 1},
		"another's":          {resume, []string{frame(1), frame(2)}, map[string][]string{"web-2": {"2"}}, nil, 0},
		"of the beginning":   {syncs, []string{frame(1), end, frame(6)}, map[string][]string{"web-1": {"6"}}, nil, 1},
		"not at its end yet": {syncs, []string{frame(1), frame(2)}, map[string][]string{"web-1": {"2"}}, nil, 0},
		"no event":           {resume, []string{"<html>", "", frame(2)}, map[string][]string{"web-1": {"2"}}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var w witness
			follow := w.follow("web-1", query{kind: test.kind})
			for _, frame := range test.frames {
				if passed, err := follow(nil, []byte(frame)); err != nil || string(passed) != frame {
					t.Errorf("%q, %v", passed, err)
				}
			}
			delivered := map[state]map[string]bool{}
			for run, versions := range test.delivered {
				for _, version := range versions {
					s := state{"a", version}
					if delivered[s] == nil {
						delivered[s] = map[string]bool{}
					}
					delivered[s][run] = true
				}
			}
			missing, seen := w.missing("web", shard{}, delivered)
			if diff := cmp.Diff(test.missing, missing, cmp.AllowUnexported(state{})); diff != "" || seen != test.seen {
				t.Errorf("%d seen, want %d\n%s", seen, test.seen, diff)
			}
		})
	}
}

// TestMissingOfShard checks that each process has to deliver the states of objects in its own shard, and that each object
// is in exactly one shard.
func TestMissingOfShard(t *testing.T) {
	var w witness
	follow := w.follow("web-2-1", query{kind: resume})
	uid := func(i int) types.UID {
		return types.UID(fmt.Sprintf("%08x-5a1d-4c5e-9f1b-0242ac120002", 0x9e3779b1*uint32(i)))
	}
	for i := range 100 {
		follow(nil, fmt.Appendf(nil, `{"type":"ADDED","object":{"metadata":{"uid":%q,"resourceVersion":"1"}}}`, uid(i)))
	}
	delivered := map[state]map[string]bool{{uid(99), "1"}: {"web-2-1": true}}
	sum := 0
	for n := 1; n <= 3; n++ {
		missing, seen := w.missing("web-2", shard{n, 3}, delivered)
		if own := (shard{n, 3}); seen < 15 || len(missing) < seen-1 || own.has(uid(99)) != (len(missing) < seen) {
			t.Errorf("shard %d: %d seen, %d missing", n, seen, len(missing))
		}
		sum += seen
	}
	if sum != 100 {
		t.Errorf("%d of 100 objects are one shard's", sum)
	}
}

// TestReceive checks that messages may be repeated, and that the first deliveries must be in order.
func TestReceive(t *testing.T) {
	message := func(kind string, version int) (id string, body []byte) {
		return fmt.Sprintf("a/%d/%s", version, kind), fmt.Appendf(nil,
			`{"type":%q,"object":{"kind":"ConfigMap","metadata":{"namespace":"n","name":"o","uid":"a","resourceVersion":"%d"}}}`, kind, version)
	}
	for name, test := range map[string]struct {
		then     func(receive func(kind string, version int))
		repeated int
		wrong    []fail
	}{
		"in order":       {func(r func(string, int)) { r("ADDED", 1); r("MODIFIED", 2); r("DELETED", 3) }, 0, nil},
		"all again":      {func(r func(string, int)) { r("ADDED", 1); r("MODIFIED", 2); r("ADDED", 1); r("MODIFIED", 2) }, 2, nil},
		"the older late": {func(r func(string, int)) { r("ADDED", 1); r("MODIFIED", 3); r("MODIFIED", 2) }, 0, []fail{disordered}},
		"told twice":     {func(r func(string, int)) { r("ADDED", 1); r("MODIFIED", 1) }, 0, []fail{duplicated}},
	} {
		t.Run(name, func(t *testing.T) {
			record := newRecord(false)
			test.then(func(kind string, version int) {
				id, body := message(kind, version)
				l, err := parseLine(body)
				record.receive("web-1", id, body, l, err)
			})
			var wrong []fail
			for _, p := range record.wrong {
				wrong = append(wrong, p.fail)
			}
			if diff := cmp.Diff(test.wrong, wrong); diff != "" || record.repeated != test.repeated {
				t.Errorf("%d repeated\n%s\n%v", record.repeated, diff, record.wrong)
			}
		})
	}
}
