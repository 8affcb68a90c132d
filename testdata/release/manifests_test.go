package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"sigs.k8s.io/yaml"
)

// sums returns the digests in checksums.txt by file.
func sums(t *testing.T, r release) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dist(), "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		found[name] = sum
	}
	return found
}

// TestChecksums checks that checksums.txt has the digest of each published file.
func TestChecksums(t *testing.T) {
	found := sums(t, made)
	for _, pattern := range []string{
		"dwatch_%s_linux_amd64.tar.gz", "dwatch_%s_amd64.deb", "dwatch_%s_amd64.rpm", "dwatch_%s_linux_amd64.cdx.json", "dwatch-%s.tgz",
	} {
		file := made.file(pattern)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		if found[filepath.Base(file)] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s has another digest: %v", file, found)
		}
	}
}

// TestSame checks that a second release in another directory has the same bytes.
func TestSame(t *testing.T) {
	for _, name := range []string{"checksums.txt", "krew/dwatch.yaml", "homebrew/dwatch.rb", "image/index.json"} {
		first, err := os.ReadFile(filepath.Join(made.dist(), name))
		if err != nil {
			t.Fatal(err)
		}
		second, err := os.ReadFile(filepath.Join(again.dist(), name))
		if err != nil {
			t.Fatal(err)
		}
		if string(first) != string(second) {
			t.Errorf("%s:\n%s\nthen\n%s", name, first, second)
		}
	}
}

// TestSBOM checks that the SBOM is valid and has the modules that dwatch is built from.
func TestSBOM(t *testing.T) {
	f, err := os.Open(made.file("dwatch_%s_linux_amd64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b cdx.BOM
	if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&b); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, c := range *b.Components {
		found[c.Name] = c.Version
	}
	if !strings.HasPrefix(found["k8s.io/client-go"], "v0.") || found["std"] == "" || len(found) < 40 {
		t.Errorf("%d modules: %v", len(found), found)
	}
}

// plugin has the fields of a manifest that krew reads.
type plugin struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, ShortDescription, Description, Homepage string
		Platforms                                        []struct {
			URI, Sha256, Bin string
			Files            []struct{ From, To string }
			Selector         struct{ MatchLabels map[string]string }
		}
	}
}

// TestKrew checks the krew manifest by the rules of krew's index: names, a semantic version, a short description, one
// platform per archive, the archive's digest, and the program and the license in it.
func TestKrew(t *testing.T) {
	var p plugin
	text, err := os.ReadFile(filepath.Join(made.dist(), "krew/dwatch.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	for what, ok := range map[string]bool{
		"apiVersion":  p.APIVersion == "krew.googlecontainertools.github.com/v1alpha2" && p.Kind == "Plugin",
		"name":        p.Metadata.Name == "dwatch" && !strings.HasPrefix(p.Metadata.Name, "kubectl"),
		"version":     regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(p.Spec.Version),
		"short":       len(p.Spec.ShortDescription) > 0 && len(p.Spec.ShortDescription) <= 50 && !strings.HasSuffix(p.Spec.ShortDescription, "."),
		"description": p.Spec.Description != "" && p.Spec.Homepage == "https://example.com/you/dwatch",
		"platforms":   len(p.Spec.Platforms) == 1,
	} {
		if !ok {
			t.Errorf("%s: %+v", what, p)
		}
	}
	found := sums(t, made)
	for _, platform := range p.Spec.Platforms {
		name := platform.URI[strings.LastIndex(platform.URI, "/")+1:]
		if !strings.HasPrefix(platform.URI, "https://example.com/you/dwatch/releases/download/v"+made.version+"/") ||
			found[name] != platform.Sha256 || len(platform.Sha256) != 64 {
			t.Errorf("%+v does not match %v", platform, found)
		}
		if l := platform.Selector.MatchLabels; l["os"] != "linux" || l["arch"] != "amd64" || len(l) != 2 {
			t.Errorf("selector %v", l)
		}
		if inside := mustRun(t, "tar", "-tzf", filepath.Join(made.dist(), name)); !strings.Contains("\n"+inside+"\n", "\n"+platform.Bin+"\n") ||
			!strings.Contains("\n"+inside+"\n", "\nLICENSE\n") {
			t.Errorf("%s has %s", name, inside)
		}
	}
}

// TestFormula checks that Ruby accepts the formula, and that it has the archive's digest.
func TestFormula(t *testing.T) {
	file := filepath.Join(made.dist(), "homebrew/dwatch.rb")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Base(made.file("dwatch_%s_linux_amd64.tar.gz"))
	for _, want := range []string{"class Dwatch < Formula", "/releases/download/v" + made.version + "/" + archive, sums(t, made)[archive], `license "Apache-2.0"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if _, err := exec.LookPath("ruby"); err == nil {
		mustRun(t, "ruby", "-c", file)
	}
}
