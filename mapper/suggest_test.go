package mapper

import "testing"

func TestNearest(t *testing.T) {
	for _, test := range []struct {
		typed string
		of    []string
		want  string
	}{
		{"wbe", []string{"db", "web", "wbx"}, "web"},
		{"contxt", []string{"context", "contexts"}, "context"},
		{"web", []string{"web"}, ""},
		{"ab", []string{"a", "abc"}, ""},
		{"web", nil, ""},
	} {
		if got := Nearest(test.typed, test.of); got != test.want {
			t.Errorf("%s: %q, want %q", test.typed, got, test.want)
		}
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b  string
		limit int
		want  int
	}{
		{"", "", 3, 0},
		{"pods", "pods", 0, 0},
		{"pods", "pod", 1, 1},
		{"podz", "pods", 1, 1},
		{"posd", "pods", 1, 1}, // a swap is one slip
		{"deploymets", "deployments", 3, 1},
		{"abc", "xyz", 3, 3},
		{"abc", "xyz", 2, 3},
		{"a", "abcdef", 3, 4}, // more than the limit is not counted out
		{"größe", "grösse", 3, 2},
		{"ca", "abc", 3, 3}, // a pair once swapped stays so
	}
	for _, test := range tests {
		if got := distance(test.a, test.b, test.limit); got != test.want {
			t.Errorf("distance(%q, %q, %d) = %d, want %d", test.a, test.b, test.limit, got, test.want)
		}
		if got := distance(test.b, test.a, test.limit); got != test.want {
			t.Errorf("distance(%q, %q, %d) = %d, want %d", test.b, test.a, test.limit, got, test.want)
		}
	}
}
