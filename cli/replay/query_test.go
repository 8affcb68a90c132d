package replay

import (
	"testing"

	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// TestLacks: a recording contains the requested objects if each of its selectors is also in the request.
func TestLacks(t *testing.T) {
	everything := []event.SelectedResource{{Resource: "*"}}
	r := &part{Recording: &recording.Recording{}}
	for name, test := range map[string]struct {
		recorded, asked event.Selection
		lacks           bool
	}{
		"all":                       {event.Selection{}, event.Selection{Labels: "a=b", Fields: "type=x"}, false},
		"the same set":              {event.Selection{Labels: "a in (b,c)"}, event.Selection{Labels: "a in (b,c)"}, false},
		"more":                      {event.Selection{Labels: "a in (b,c)"}, event.Selection{Labels: "a in (b,c),d=e"}, false},
		"parts of sets":             {event.Selection{Labels: "a in (b,c)"}, event.Selection{Labels: "a in (b,d),e in (a,c)"}, true},
		"commas elsewhere":          {event.Selection{Labels: "a in (x,y,z)"}, event.Selection{Labels: "a in (x,y),b in (q,y,z)"}, true},
		"a value in another":        {event.Selection{Labels: "a notin (b,c)"}, event.Selection{Labels: "a notin (b,q,c)"}, true},
		"fields with operator":      {event.Selection{Fields: "type!=x"}, event.Selection{Fields: "type!=x"}, false},
		"fields by other operators": {event.Selection{Fields: "type=x"}, event.Selection{Fields: "type!=x"}, true},
		"the same shard":            {event.Selection{Shard: event.Shard{Number: 1, Count: 2}}, event.Selection{Shard: event.Shard{Number: 1, Count: 2}}, false},
		"a shard of all":            {event.Selection{}, event.Selection{Shard: event.Shard{Number: 1, Count: 2}}, false},
		"all of a shard":            {event.Selection{Shard: event.Shard{Number: 1, Count: 2}}, event.Selection{}, true},
		"another shard":             {event.Selection{Shard: event.Shard{Number: 1, Count: 2}}, event.Selection{Shard: event.Shard{Number: 2, Count: 2}}, true},
		"excluded from a set":       {event.Selection{Resources: everything, Exclude: []string{"pods"}}, event.Selection{Resources: everything}, true},
		"excluded from both":        {event.Selection{Resources: everything, Exclude: []string{"pods"}}, event.Selection{Resources: everything, Exclude: []string{"pods"}}, false},
		"excluded from none":        {event.Selection{Resources: everything, Exclude: []string{"pods"}}, event.Selection{}, false},
	} {
		if why := r.lacks(test.recorded, test.asked); (why != "") != test.lacks {
			t.Errorf("%s: %q", name, why)
		}
	}
}
