package main

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// imageOf returns the image for linux/amd64.
func imageOf(t *testing.T, r release) v1.Image {
	t.Helper()
	top, err := layout.ImageIndexFromPath(filepath.Join(r.dist(), "image"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v, %v", manifest, err)
	}
	platforms, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = platforms.IndexManifest(); err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		if m.Platform.OS == "linux" && m.Platform.Architecture == "amd64" {
			image, err := platforms.Image(m.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return image
		}
	}
	t.Fatalf("no image for linux/amd64: %v", manifest)
	return nil
}

// TestImage checks that the image contains one file and runs it as a non-root user.
func TestImage(t *testing.T) {
	image := imageOf(t, made)
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; c.User != "65532:65532" || len(c.Entrypoint) != 1 || c.Entrypoint[0] != "/dwatch" {
		t.Errorf("%+v", c)
	}
	if names := unpack(t, image, t.TempDir()); len(names) != 1 || names[0] != "dwatch" {
		t.Errorf("files %q", names)
	}
}

// TestImageLayer checks that tar can read the layer, which requires the end of the archive, unlike Go's reader. All
// files of the layout are readable.
func TestImageLayer(t *testing.T) {
	need(t, "tar")
	layers, err := imageOf(t, made).Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		content, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		cmd := exec.Command("tar", "-t")
		cmd.Stdin = content
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "dwatch\n" {
			t.Errorf("%v: %s", err, out)
		}
	}
	err = filepath.WalkDir(filepath.Join(made.dist(), "image"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestImageRuns checks that dwatch starts as the image's user with the image as a read-only root.
func TestImageRuns(t *testing.T) {
	need(t, "unshare")
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("no mounts can be made here: %s", out) // as in most containers
	}
	root := t.TempDir()
	image := imageOf(t, made)
	unpack(t, image, root)
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	mount := `mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && ! touch "$0/probe" 2>/dev/null || exit 77
		exec chroot --userspec=65532:65532 "$0" /dwatch "$@"`
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command("unshare", append([]string{"--mount", "sh", "-c", mount, root}, args...)...)
		return cmd.CombinedOutput()
	}
	said, err := run("--version")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 77 {
		t.Skipf("no read-only root can be made here: %s", said)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	wantVersion(t, string(said))
	// As in a pod without a kubeconfig and a service account: dwatch reports an error, and does not crash.
	said, err = run("list", "pods", "--server", "https://127.0.0.1:1")
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v: %s", err, said)
	}
}

// unpack writes the files of the image into dir, and returns their names.
func unpack(t *testing.T, image v1.Image, dir string) (names []string) {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		f, err := os.OpenFile(filepath.Join(dir, filepath.Base(header.Name)), os.O_CREATE|os.O_WRONLY, header.FileInfo().Mode())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(f, r); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
