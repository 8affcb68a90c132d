package pack

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestPacked: objects that are alike take a tenth of their size, and come out as they
// were; so do those that are too short for that, or nothing like the first.
func TestPacked(t *testing.T) {
	var p Packer
	r := schema.GroupResource{Resource: "pods"}
	rest := strings.Builder{}
	for n := range 200 {
		fmt.Fprintf(&rest, `,"field-%d":"%x"`, n, n*7919)
	}
	contents := []string{"{}", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u"},"status":{"phase":"Running"}}`}
	for n := range 20 {
		contents = append(contents, fmt.Sprintf(`{"kind":"Pod","metadata":{"name":"web-%d","uid":"%d"}%s}`, n, n, rest.String()))
	}
	for _, order := range []string{"forward", "backward"} {
		for n := range contents {
			content := contents[n]
			if order == "backward" {
				content = contents[len(contents)-1-n]
			}
			one := p.Pack(r, content)
			if one.Content() != content {
				t.Fatalf("%s is not %s", one.Content(), content)
			}
			if order == "backward" && n > 0 && n < 20 && one.Size()*10 > len(content) {
				t.Errorf("%d bytes of %d", one.Size(), len(content))
			}
		}
		p = Packer{}
	}
}
