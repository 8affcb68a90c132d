package spelling

import "testing"

func TestTo(t *testing.T) {
	for _, test := range []struct {
		typed string
		of    []string
		want  string
	}{
		{"wbe", []string{"db", "web", "wbx"}, "web"},
		{"contxt", []string{"context", "contexts"}, "context"},
		{"web", []string{"web"}, ""},
		{"posd", []string{"pods"}, "pods"}, // a swap is one slip
		{"replay", []string{"deploy"}, ""},
		{"grösse", []string{"größe"}, ""},
		{"ab", []string{"a", "abc"}, ""},
		{"web", nil, ""},
	} {
		if got := Nearest(test.typed, test.of); got != test.want {
			t.Errorf("%s: %q, want %q", test.typed, got, test.want)
		}
	}
}
