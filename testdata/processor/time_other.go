//go:build !unix

package processor

import "time"

var begun = time.Now()

// Time returns how long this process has run, where nothing better is known.
func Time() time.Duration { return time.Since(begun) }
