package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ClusterRecording is the recording of a cluster. Cluster is empty if it is the only one.
type ClusterRecording struct {
	Cluster string
	Store   Store
}

// multiClusterName is a file that marks a directory whose subdirectories are the recordings of several clusters.
const multiClusterName = ".clusters"

// FindClusterRecordings returns the recordings below a directory for several clusters, sorted by name. It returns none for
// other directories, even if they do not exist.
func FindClusterRecordings(dir string) (parts []ClusterRecording, err error) {
	if _, err := os.Stat(filepath.Join(dir, multiClusterName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // dir is no such directory, or does not exist
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, err := url.PathUnescape(e.Name())
		if err != nil || !e.IsDir() || ClusterDirName(name) != e.Name() {
			continue
		}
		below := filepath.Join(dir, e.Name())
		switch files, _, err := list(below); {
		case err != nil:
			return nil, err
		case len(files) > 0:
			parts = append(parts, ClusterRecording{name, Dir(below)})
		}
	}
	slices.SortFunc(parts, func(a, b ClusterRecording) int { return strings.Compare(a.Cluster, b.Cluster) })
	return parts, nil
}

// ClusterDirName returns the name of the directory for a cluster. Characters that are not safe in file names are escaped.
func ClusterDirName(cluster string) string {
	var name strings.Builder
	for i, b := range []byte(cluster) {
		isPlain := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_' || b == '@' ||
			b == '.' && i > 0 && i < len(cluster)-1
		if isPlain {
			name.WriteByte(b)
		} else {
			fmt.Fprintf(&name, "%%%02X", b)
		}
	}
	return name.String()
}

// checkSingleCluster returns an error if a directory has recordings of several clusters.
func checkSingleCluster(dir string) error {
	parts, err := FindClusterRecordings(dir)
	if err != nil || len(parts) == 0 {
		return err
	}
	var names []string
	for _, p := range parts {
		names = append(names, p.Cluster)
	}
	return fmt.Errorf("it contains recordings of several clusters: %s", strings.Join(names, ", "))
}

// MultiClusterDir is a locked directory for the recordings of several clusters. Each has its own Recorder.
type MultiClusterDir struct{ lock *os.File }

// OpenMultiClusterDir creates the directory if it does not exist, and locks it until Close.
func OpenMultiClusterDir(dir string) (*MultiClusterDir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	files, _, err := list(dir)
	if err == nil && len(files) > 0 {
		err = errors.New("it contains a recording of a single cluster: use another directory")
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, multiClusterName), nil, 0o600)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &MultiClusterDir{lock}, nil
}

// Close unlocks the directory.
func (s *MultiClusterDir) Close() { s.lock.Close() }
