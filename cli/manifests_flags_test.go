package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"dwatch/cli/console"
)

// TestManifestsFlags checks that help of manifests shows no flag that needs a condition that ends the run, as a pod has none. Such flags
// are refused with a reason.
func TestManifestsFlags(t *testing.T) {
	for name, value := range map[string]string{"until": "ready", "until-for": "any", "fail-if": "failed", "logs": "3", "count": "1", "timeout": "1m"} {
		cmd, _ := newCommand(manifestsDescription, "dwatch", nil, Streams{Err: io.Discard})
		if f := cmd.Flags().Lookup(name); f == nil || !f.Hidden {
			t.Errorf("help shows --%s", name)
		}
		o := manifestsDescription.newOptions(nil)
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		addFlags(f, o)
		if err := f.Parse([]string{"--image=i", "--" + name + "=" + value}); err != nil {
			t.Fatal(err)
		}
		if err := o.complete([]string{"cm"}, console.Terminal{}); err == nil || !strings.HasPrefix(err.Error(), "--"+name+" ") || !strings.HasSuffix(err.Error(), ": it cannot be combined with dwatch manifests") {
			t.Errorf("--%s: %v", name, err)
		}
	}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(f, manifestsDescription.newOptions(nil))
	if f.Lookup("where").Hidden {
		t.Error("help does not show --where")
	}
}
