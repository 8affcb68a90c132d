package pack

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestPacked checks that contents are restored, whether or not they resemble the first one or are long enough for a
// dictionary, and that similar objects shrink to a tenth.
func TestPacked(t *testing.T) {
	var p Packer
	r := schema.GroupResource{Resource: "pods"}
	shared := strings.Builder{}
	for n := range 200 {
		fmt.Fprintf(&shared, `,"field-%d":"%x"`, n, n*7919)
	}
	contents := []string{"{}", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u"},"status":{"phase":"Running"}}`}
	for n := range 20 {
		contents = append(contents, fmt.Sprintf(`{"kind":"Pod","metadata":{"name":"web-%d","uid":"%d"}%s}`, n, n, shared.String()))
	}
	for _, order := range []string{"forward", "backward"} {
		for n := range contents {
			content := contents[n]
			if order == "backward" {
				content = contents[len(contents)-1-n]
			}
			packed := p.Pack(r, content)
			if got := packed.Content(); got != content {
				t.Fatalf("got %s, want %s", got, content)
			}
			if order == "backward" && n > 0 && n < 20 && packed.Size()*10 > len(content) {
				t.Errorf("%d bytes were packed to %d", len(content), packed.Size())
			}
		}
		p = Packer{}
	}
}
