package spelling

import "testing"

func TestNearest(t *testing.T) {
	for _, test := range []struct {
		typed      string
		candidates []string
		want       string
	}{
		{"wbe", []string{"db", "web", "wbx"}, "web"},
		{"contxt", []string{"context", "contexts"}, "context"},
		{"web", []string{"web"}, ""},
		{"posd", []string{"pods"}, "pods"}, // a swap counts as one error
		{"replay", []string{"deploy"}, ""},
		{"grösse", []string{"größe"}, ""},
		{"ab", []string{"a", "abc"}, ""},
		{"web", nil, ""},
	} {
		if got := Nearest(test.typed, test.candidates); got != test.want {
			t.Errorf("%s: got %q, want %q", test.typed, got, test.want)
		}
	}
}
