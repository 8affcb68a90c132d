package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRecord checks that the record reports exactly the problems of the printed lines. A line is TYPE NAME UID
// RESOURCEVERSION. LOST is a DELETED whose final state is unknown.
func TestRecord(t *testing.T) {
	for _, test := range []struct {
		name, lines, truth string
		selects            bool
		want               string
	}{
		{"no problem", "ADDED a u1 1, MODIFIED a u1 2, DELETED a u1 3, ADDED a u2 4", "a u2 4", false, ""},
		{"known deletion", "ADDED a u1 1, DELETED a u1 1", "", false, ""},
		{"same line", "ADDED a u1 1, ADDED a u1 1", "a u1 1", false, "duplicated"},
		{"same state", "ADDED a u1 1, MODIFIED a u1 1", "a u1 1", false, "duplicated"},
		{"two deletions", "ADDED a u1 1, DELETED a u1 2, DELETED a u1 2", "", false, "duplicated"},
		{"older", "ADDED a u1 2, MODIFIED a u1 1", "a u1 1", false, "out of order"},
		{"no ADDED", "MODIFIED a u1 2", "a u1 2", false, "out of order"},
		{"after its end", "ADDED a u1 1, DELETED a u1 2, MODIFIED a u1 3", "a u1 3", false, "out of order"},
		{"back from the dead", "ADDED a u1 1, DELETED a u1 1, ADDED a u1 3", "a u1 3", false, "out of order"},
		{"selected again", "ADDED a u1 1, DELETED a u1 2, ADDED a u1 3", "a u1 3", true, ""},
		{"two of a name", "ADDED a u1 1, ADDED a u2 2", "a u2 2", false, "lost, lost"},
		{"last state", "ADDED a u1 1", "a u1 2", false, "lost"},
		{"last deletion", "ADDED a u1 1", "", false, "lost"},
		{"never printed", "", "a u1 1", false, "lost"},
		{"false deletion", "ADDED a u1 1, DELETED a u1 1", "a u1 1", false, "lost"},
		{"repeated after a kill", "ADDED a u1 1, KILL, ADDED a u1 1, MODIFIED a u1 2", "a u1 2", false, ""},
		{"known only as it was", "ADDED a u1 1, MODIFIED a u1 3, KILL, LOST a u1 1", "", false, ""},
		{"ADDED was cut off", "KILL, LOST a u1 1", "", false, ""},
		{"ADDED of one selected again was cut off", "ADDED a u1 1, DELETED a u1 2, WAIT, KILL, LOST a u1 3", "", true, ""},
		{"lost after its deletion", "ADDED a u1 1, DELETED a u1 2, WAIT, KILL, LOST a u1 3", "", false, "out of order"},
		{"lost again", "ADDED a u1 1, DELETED a u1 2, LOST a u1 3", "", true, "out of order"},
		{"older after a kill", "ADDED a u1 1, MODIFIED a u1 3, KILL, MODIFIED a u1 2", "a u1 2", false, "out of order"},
		{"twice after a kill", "ADDED a u1 1, KILL, ADDED a u1 1, ADDED a u1 1", "a u1 1", false, "duplicated"},
		{"long before a kill", "ADDED a u1 1, WAIT, KILL, ADDED a u1 1", "a u1 1", false, "duplicated"},
		{"forgotten by a kill", "ADDED a u1 1, KILL", "", false, "lost"},
		{"no JSON", "{", "", false, "out of order"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRecord(test.selects)
			printed := time.Now()
			for text := range strings.SplitSeq(test.lines, ", ") {
				switch text {
				case "":
				case "WAIT":
					printed = time.Now()
				case "KILL":
					r.killed("", printed)
				default:
					text := lineOf(text)
					l, err := parseLine(text)
					r.take("", text, l, err)
				}
			}
			r.wrong = append(r.wrong, r.compareLocked(truthOf(test.truth))...)
			var got []string
			for _, p := range r.wrong {
				got = append(got, string(p.fail))
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("%v, want %q", r.wrong, test.want)
			}
		})
	}
}

// TestClusterOf checks that a line is compared only with lines of its cluster, since resourceVersions and names are per
// cluster, and that a line of an unknown cluster is wrong.
func TestClusterOf(t *testing.T) {
	d := &dwatch{records: map[string]*record{"one": newRecord(false), "two": newRecord(false)}}
	print := func(cluster, text string) {
		line := strings.Replace(string(lineOf(text)), "{", fmt.Sprintf(`{"cluster":%q,`, cluster), 1)
		if l, r, err := d.read([]byte(line)); r != nil {
			r.take("", []byte(line), l, err)
		}
	}
	expect := func(one, two int) {
		t.Helper()
		if len(d.records["one"].wrong) != one || len(d.records["two"].wrong) != two {
			t.Errorf("%v and %v, want %d and %d", d.records["one"].wrong, d.records["two"].wrong, one, two)
		}
	}
	print("one", "ADDED a u1 5")
	print("two", "ADDED a u2 3")
	print("one", "MODIFIED a u1 6")
	print("two", "MODIFIED a u2 4")
	expect(0, 0)
	print("two", "MODIFIED a u2 4")
	expect(0, 1)
	print("three", "ADDED a u3 7")
	expect(1, 2)
}

// TestShared checks that several processes may report different objects, but not the same one. Names and repetitions
// after a kill are only compared within a process.
func TestShared(t *testing.T) {
	r := newRecord(false)
	r.shared, r.apart = true, true
	print := func(by, text string) {
		line := lineOf(text)
		l, err := parseLine(line)
		r.take(by, line, l, err)
	}
	expect := func(want ...fail) {
		t.Helper()
		var got []fail
		for _, p := range r.wrong {
			got = append(got, p.fail)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", r.wrong, want)
		}
	}
	print("web", "ADDED a u1 1")
	print("web-2", "ADDED a u2 3") // has the name of u1
	print("web", "DELETED a u1 2")
	print("web-2", "MODIFIED a u2 4")
	r.killed("web-2", time.Now().Add(-time.Hour))
	print("web-2", "MODIFIED a u2 4")
	expect()
	print("web", "MODIFIED a u2 5")
	expect(overlapped)
	r.killed("web-2", time.Now().Add(-time.Hour)) // not the process that reported it last
	print("web", "MODIFIED a u2 5")
	expect(overlapped, duplicated)

	message := lineOf("ADDED b u3 6")
	l, err := parseLine(message)
	for _, run := range []string{"web-2-1", "web-2-2", "web-1"} {
		r.receive(run, "u3/6/ADDED", message, l, err)
	}
	expect(overlapped, duplicated, overlapped)
	if r.repeated != 3 {
		t.Errorf("%d came again", r.repeated)
	}
}

func lineOf(text string) []byte {
	var kind, name, uid, version string
	if n, _ := fmt.Sscan(text, &kind, &name, &uid, &version); n < 4 {
		return []byte(text)
	}
	unknown := kind == "LOST"
	if unknown {
		kind = "DELETED"
	}
	return fmt.Appendf(nil, `{"type":%q,"finalStateUnknown":%t,"object":%s}`+"\n", kind, unknown, objectOf(name, uid, version))
}

func objectOf(name, uid, version string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"n","uid":%q,"resourceVersion":%q}}`, name, uid, version)
}

func truthOf(text string) truth {
	found := truth{}
	var name, uid, version string
	if n, _ := fmt.Sscan(text, &name, &uid, &version); n == 3 {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON([]byte(objectOf(name, uid, version))); err != nil {
			panic(err)
		}
		found[u.GetUID()] = u
	}
	return found
}
