package testenv

import (
	"fmt"
	"os"
	"path/filepath"
)

// find returns the path of a program: the value of the environment variable, or bin/NAME in the module that contains
// the working directory.
func find(name, variable string) (string, error) {
	path := os.Getenv(variable)
	if path == "" {
		root, err := ModuleRoot()
		if err != nil {
			return "", err
		}
		path = filepath.Join(root, "bin", name)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the tests need %s, run make bin/%[1]s: %w", name, err)
	}
	return filepath.Abs(path)
}

// ModuleRoot returns the nearest parent of the working directory with a go.mod. go test runs each test in the
// directory of its package.
func ModuleRoot() (string, error) {
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
