package bed

import (
	"fmt"
	"os"
	"path/filepath"
)

// find returns the path of the program: $DWATCH_CLUSTER, or bin/cluster in the
// module that holds the working directory.
func find() (string, error) {
	path := os.Getenv("DWATCH_CLUSTER")
	if path == "" {
		root, err := Root()
		if err != nil {
			return "", err
		}
		path = filepath.Join(root, "bin", "cluster")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the tests need a test cluster, run make bin/cluster: %w", err)
	}
	return filepath.Abs(path)
}

// Root goes up from the working directory, which go test sets to the package's
// own, to the one with go.mod.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above %s", start)
		}
	}
}
