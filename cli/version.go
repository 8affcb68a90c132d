package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is set by the linker for a release build.
var release = ""

// version says which dwatch this is, built by what, with which client-go.
func version() string {
	name, client := release, "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		name = cmp.Or(release, info.Main.Version)
		for _, dep := range info.Deps {
			if dep.Path == "k8s.io/client-go" {
				client = dep.Version
			}
		}
	}
	return fmt.Sprintf("dwatch %s (client-go %s, %s, %s/%s)", orDevel(name), client, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// userAgent is what the server's audit log shows.
func userAgent() string {
	return fmt.Sprintf("dwatch/%s (%s/%s)", orDevel(release), runtime.GOOS, runtime.GOARCH)
}

func orDevel(version string) string {
	if version == "" || version == "(devel)" {
		return "devel"
	}
	return version
}
