//go:build !unix

package processor

import "time"

var begun = time.Now()

// Time returns the time since the process started, because this system does not report its processor time.
func Time() time.Duration { return time.Since(begun) }
