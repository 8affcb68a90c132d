package page

import "embed"

// embedded are the files of the page: assets/index.html, and what that names.
//
//go:embed assets
var embedded embed.FS
