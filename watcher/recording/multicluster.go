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

// Part is the recording of one of several clusters, in a directory of its own below theirs; or of the only
// one, without a name.
type ClusterRecording struct {
	Cluster string
	Store   Store
}

// setName is a file that says of a directory that those below it have recordings of several clusters.
const multiClusterName = ".clusters"

// Parts returns of which clusters a directory holds recordings, by name. None: it is one itself, or holds
// none.
func FindClusterRecordings(dir string) (parts []ClusterRecording, err error) {
	if _, err := os.Stat(filepath.Join(dir, multiClusterName)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // or dir is not there, which who reads it finds
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

// DirOf is what the directory of a cluster is called, in which a name may have any characters.
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

// ofSeveral says that a directory is of several clusters; nil: it is not.
func checkSingleCluster(dir string) error {
	parts, err := FindClusterRecordings(dir)
	if err != nil || len(parts) == 0 {
		return err
	}
	var names []string
	for _, p := range parts {
		names = append(names, p.Cluster)
	}
	return fmt.Errorf("it holds recordings of several clusters: %s", strings.Join(names, ", "))
}

// Set is a directory into which several clusters are recorded, each by a Recorder of its own.
type MultiClusterDir struct{ lock *os.File }

// OpenSet prepares to record into the directories of a directory, which is made if it is not there. Nobody
// else may until Close.
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
		err = errors.New("it is of one cluster: take another directory")
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

// Close lets others record into the directories.
func (s *MultiClusterDir) Close() { s.lock.Close() }
