package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// chartSource is the directory of the chart, relative to the root of the repository.
const chartSource = "cli/manifest/chart"

// writeChart writes the Helm chart of a version into dir, as helm package does, but reproducibly.
func writeChart(dir, version string, when time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	content, err := chartArchive(os.DirFS(chartSource), version, when)
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "dwatch-"+version+".tgz"), content, 0o644)
}

func chartArchive(source fs.FS, version string, when time.Time) ([]byte, error) {
	var content bytes.Buffer
	z := gzip.NewWriter(&content)
	w := tar.NewWriter(z)
	err := fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		if name == "Chart.yaml" {
			if text, err = versioned(text, version); err != nil {
				return err
			}
		}
		header := &tar.Header{Name: path.Join("dwatch", name), Mode: 0o644, Size: int64(len(text)), ModTime: when, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = errors.Join(w.Close(), z.Close())
	return content.Bytes(), err
}

// versioned returns Chart.yaml with the version of a release.
func versioned(text []byte, version string) ([]byte, error) {
	for _, name := range []string{"version", "appVersion"} {
		none := []byte("\n" + name + ": 0.0.0\n")
		if bytes.Count(text, none) != 1 {
			return nil, fmt.Errorf("the file Chart.yaml must have exactly one line %q", none)
		}
		text = bytes.Replace(text, none, []byte("\n"+name+": "+version+"\n"), 1)
	}
	return text, nil
}
