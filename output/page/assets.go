package page

import (
	"embed"
	"io/fs"
)

//go:embed assets
var embedded embed.FS

// assets are the files of the page: index.html, and what that names.
func assets() fs.FS {
	files, err := fs.Sub(embedded, "assets")
	if err != nil {
		panic(err) // the name is valid
	}
	return files
}
