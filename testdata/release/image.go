package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nonRootUser is the user of dwatch in the image. It is numeric, so that Kubernetes can check runAsNonRoot, and the same
// as in distroless images.
const nonRootUser = 65532

// binary is an entry of GoReleaser's list of artifacts.
type binary struct {
	Path, Goos, Goarch, Type string
}

// writeImage writes the image of all Linux binaries in dist as the OCI layout dist/image.
func writeImage(dist string, when time.Time) error {
	binaries, err := binariesIn(dist)
	if err != nil {
		return err
	}
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range binaries {
		img, err := image(b, when)
		if err != nil {
			return fmt.Errorf("image of %s: %w", b.Path, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: b.Goos, Architecture: b.Goarch},
		}})
	}
	dir := filepath.Join(dist, "image")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index); err != nil {
		return err
	}
	if err := readable(dir); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("image: %s, %d platforms, %s\n", dir, len(binaries), digest)
	return nil
}

// readable makes the files below dir readable for everyone, like the other files of a release.
func readable(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o644)
	})
}

// binariesIn returns the Linux binaries that GoReleaser lists in dist.
func binariesIn(dist string) ([]binary, error) {
	list, err := os.ReadFile(filepath.Join(dist, "artifacts.json"))
	if err != nil {
		return nil, err
	}
	var all, linux []binary
	if err := json.Unmarshal(list, &all); err != nil {
		return nil, err
	}
	for _, b := range all {
		if b.Type == "Binary" && b.Goos == "linux" {
			linux = append(linux, b)
		}
	}
	if len(linux) == 0 {
		return nil, fmt.Errorf("no binary for Linux in %s", dist)
	}
	return linux, nil
}

// image returns an image that contains only the program: no shell, no libraries, and no certificates, because the
// cluster's come with a service account. dwatch writes only to mounted volumes.
func image(b binary, when time.Time) (v1.Image, error) {
	content, err := files(b.Path, when)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "make release", Created: v1.Time{Time: when}}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, howToRun(config.DeepCopy(), b, when))
}

// howToRun sets the configuration for running the image, and returns c.
func howToRun(c *v1.ConfigFile, b binary, when time.Time) *v1.ConfigFile {
	c.OS, c.Architecture, c.Created = b.Goos, b.Goarch, v1.Time{Time: when}
	c.Config = v1.Config{
		Entrypoint: []string{"/dwatch"},
		User:       fmt.Sprintf("%d:%[1]d", nonRootUser),
		WorkingDir: "/",
		Env:        []string{"PATH=/"},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "dwatch",
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return c
}

// files returns the file system of the image as a tar archive.
func files(program string, when time.Time) ([]byte, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	header := &tar.Header{Name: "dwatch", Mode: 0o755, Size: int64(len(content)), ModTime: when, Format: tar.FormatPAX}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil { // writes the end of the archive
		return nil, err
	}
	return b.Bytes(), nil
}
