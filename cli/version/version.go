// Package version says which dwatch this is.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is set by the linker for a release build.
var release = ""

// Text is what --version prints: the version of dwatch, of client-go, of Go, and the platform.
func Text() string {
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

// Release is the version of a release build, or "devel".
func Release() string { return orDevel(release) }

// UserAgent is what the audit log of the server shows.
func UserAgent() string {
	return fmt.Sprintf("dwatch/%s (%s/%s)", Release(), runtime.GOOS, runtime.GOARCH)
}

func orDevel(version string) string {
	if version == "" || version == "(devel)" {
		return "devel"
	}
	return version
}
