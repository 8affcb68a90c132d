package page

import "embed"

// embedded has the files of the page: assets/index.html and the files that it loads.
//
//go:embed assets
var embedded embed.FS
