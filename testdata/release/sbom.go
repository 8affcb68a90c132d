package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes the modules of a binary as a CycloneDX file. The linker has recorded them in the binary.
func writeSBOM(binary, file string, when time.Time) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read the modules of %s: %w", binary, err)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom(info, when))
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

func bom(info *buildinfo.BuildInfo, when time.Time) *cdx.BOM {
	program := module(&info.Main, cdx.ComponentTypeApplication)
	standard := cdx.Component{
		BOMRef: "pkg:golang/std@" + info.GoVersion, Type: cdx.ComponentTypeLibrary, Name: "std",
		Version: info.GoVersion, PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	}
	linked := []cdx.Component{standard}
	refs := []string{standard.BOMRef}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		c := module(dep, cdx.ComponentTypeLibrary)
		linked, refs = append(linked, c), append(refs, c.BOMRef)
	}
	b := cdx.NewBOM()
	b.Metadata = &cdx.Metadata{Timestamp: when.Format(time.RFC3339), Component: &program, Properties: settings(info)}
	b.Components = &linked
	b.Dependencies = &[]cdx.Dependency{{Ref: program.BOMRef, Dependencies: &refs}}
	return b
}

// module returns a module as a component. Its go.sum hash is a property, because CycloneDX does not know this kind of
// digest.
func module(m *debug.Module, kind cdx.ComponentType) cdx.Component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := cdx.Component{BOMRef: url, Type: kind, Name: m.Path, Version: m.Version, PackageURL: url}
	if m.Sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: m.Sum}}
	}
	return c
}

// settings returns the Go version and the build settings, without those of the version control system.
func settings(info *buildinfo.BuildInfo) *[]cdx.Property {
	all := []cdx.Property{{Name: "go:version", Value: info.GoVersion}}
	for _, s := range info.Settings {
		if s.Value != "" && !strings.HasPrefix(s.Key, "vcs") {
			all = append(all, cdx.Property{Name: "go:build:" + s.Key, Value: s.Value})
		}
	}
	return &all
}
