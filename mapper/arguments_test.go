package mapper

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseArguments(t *testing.T) {
	tests := []struct {
		name      string
		resources []string
		args      []string
		want      []Argument
	}{
		{name: "type", args: []string{"pods"}, want: []Argument{{"pods", ""}}},
		{name: "types", args: []string{"pods,deploy"}, want: []Argument{{"pods", ""}, {"deploy", ""}}},
		{name: "type and names", args: []string{"pods", "a", "b"}, want: []Argument{{"pods", "a"}, {"pods", "b"}}},
		{
			name: "types and names", args: []string{"pods,sts", "a", "b"},
			want: []Argument{{"pods", "a"}, {"pods", "b"}, {"sts", "a"}, {"sts", "b"}},
		},
		{name: "pairs", args: []string{"pods/a", "deploy/b"}, want: []Argument{{"pods", "a"}, {"deploy", "b"}}},
		{name: "pairs in a list", args: []string{"pods/a,deploy/b"}, want: []Argument{{"pods", "a"}, {"deploy", "b"}}},
		{
			name: "flags and a type", resources: []string{"pods,deploy/web", "crontabs"}, args: []string{"sts"},
			want: []Argument{{"pods", ""}, {"deploy", "web"}, {"crontabs", ""}, {"sts", ""}},
		},
		{
			name: "flags and pairs", resources: []string{"pods"}, args: []string{"deploy/web"},
			want: []Argument{{"pods", ""}, {"deploy", "web"}},
		},
		{
			name: "duplicates", resources: []string{"pods", "pods/a,pods"}, args: []string{"pods", "a", "b", "a"},
			want: []Argument{{"pods", ""}, {"pods", "a"}, {"pods", "b"}},
		},
		{
			name: "qualified", args: []string{"deployments.v1.apps/web"},
			want: []Argument{{"deployments.v1.apps", "web"}},
		},
		{name: "a name with a colon", args: []string{"clusterroles", "system:node"}, want: []Argument{{"clusterroles", "system:node"}}},
		{name: "a verb is treated as a type", args: []string{"get", "pods"}, want: []Argument{{"get", "pods"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseArguments(test.resources, test.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestParseArgumentsErrors(t *testing.T) {
	tests := []struct {
		resources []string
		args      []string
		want      string
	}{
		{want: "no resource given"},
		{args: []string{""}, want: "a resource name is empty"},
		{resources: []string{""}, want: "a resource name is empty"},
		{args: []string{"pods,,deploy"}, want: `an item of the list "pods,,deploy" is empty`},
		{args: []string{"pods,"}, want: `an item of the list "pods," is empty`},
		{resources: []string{","}, want: `an item of the list "," is empty`},
		{args: []string{"pods/"}, want: `"pods/": arguments in resource/name form must have a single resource and name`},
		{args: []string{"/x"}, want: `"/x": arguments in resource/name form must have a single resource and name`},
		{args: []string{"/"}, want: `"/": arguments in resource/name form must have a single resource and name`},
		{args: []string{"a/b/c"}, want: `"a/b/c": arguments in resource/name form may not have more than one slash`},
		{args: []string{"pods", ""}, want: "an object name is empty"},
		{args: []string{"pods", ".."}, want: `invalid name "..": may not be '..'`},
		{args: []string{"pods/.."}, want: `invalid name "..": may not be '..'`},
		{args: []string{"pods", "50%"}, want: `invalid name "50%": may not contain '%'`},
		{args: []string{"pods", "%\x1b[31m"}, want: `invalid name "%\x1b[31m": may not contain '%'`},
		{args: []string{"pods", "a,b"}, want: `invalid name "a,b": names are separated by spaces, as in "pods a b", or come with their type, as in "pods/a,pods/b"`},
		{args: []string{"pods,sts", "a,", "b"}, want: `invalid name "a,": names are separated by spaces, as in "pods,sts a b", or come with their type, as in "pods/a,pods/b,sts/a,sts/b"`},
		{args: []string{"pods", ","}, want: `invalid name ",": names are separated by spaces`},
		{args: []string{"pods", "a,\x1b[31m"}, want: `invalid name "a,\x1b[31m": names are separated by spaces, as in "pods a \x1b[31m"`},
		{args: []string{"pods", "pods/web"}, want: "\"pods\" is not TYPE/NAME: name each object as TYPE/NAME, as in 'pods/a pods/b', and all objects of a type with -r, as in 'deploy/web -r pods'"},
		{args: []string{"pods/web", "web"}, want: "\"web\" is not TYPE/NAME: name each object as TYPE/NAME"},
		{args: []string{"pods,deploy/web"}, want: "\"pods\" is not TYPE/NAME: name each object as TYPE/NAME"},
		{args: []string{"explain", "deploy/web"}, want: `"explain" is not a resource: dwatch explain-readiness TYPE/NAME explains why an object is ready or not`},
		{args: []string{"get", "pods/web"}, want: `"get" is not a resource: dwatch RESOURCE... watches, and dwatch list RESOURCE... prints what exists`},
	}
	for _, test := range tests {
		t.Run(strings.Join(append(test.resources, test.args...), " "), func(t *testing.T) {
			got, err := ParseArguments(test.resources, test.args)
			if err == nil {
				t.Fatalf("got %v, want an error", got)
			}
			if !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("message contains line breaks or escape characters: %q", err)
			}
		})
	}
}

func TestParseArgumentsKeepsItsInput(t *testing.T) {
	resources, args := []string{"pods", "pods"}, []string{"pods", "a", "a"}
	if _, err := ParseArguments(resources, args); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"pods", "pods"}, {"pods", "a", "a"}}, [][]string{resources, args}); diff != "" {
		t.Error(diff)
	}
}
