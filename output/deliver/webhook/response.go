package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"dwatch/output/deliver"
)

// statusError returns what a status code other than 2xx means for a message: a RefusedError, a DownError or another error, after
// which the message is sent again.
func statusError(code int, header http.Header, now time.Time) error {
	if code >= 200 && code < 300 {
		return nil
	}
	err := errors.New(describeStatus(code))
	if slices.Contains(final, code) {
		return &deliver.RefusedError{Err: err}
	}
	after, asked := retryAfter(header, now)
	if asked || code == http.StatusUnauthorized || code == http.StatusProxyAuthRequired { // other messages would get the same response
		return &deliver.DownError{Err: err, RetryAfter: after}
	}
	return err
}

// final lists the status codes that a repeated request would get again.
var final = []int{
	http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
}

// describeStatus returns a status code with its standard text and a hint. It does not contain the reason in the response, which may
// be any text.
func describeStatus(code int) string {
	hint := ""
	switch {
	case code >= 300 && code < 400:
		hint = ": redirects are not followed; use their target in --to"
	case code == http.StatusUnauthorized:
		hint = ": check --to-token-file, --to-header-file or --to-cert"
	case code == http.StatusNotFound:
		hint = ": check the path of --to"
	case code == http.StatusProxyAuthRequired:
		hint = ": check the password in HTTPS_PROXY or HTTP_PROXY"
	}
	return fmt.Sprintf("HTTP %d %s%s", code, http.StatusText(code), hint)
}

// longestAsked is the maximum delay that a receiver may ask for. A wrong date must not end the delivery.
const longestAsked = time.Hour

// retryAfter parses the header Retry-After, which contains seconds or a date. asked is false if it is missing or invalid.
func retryAfter(h http.Header, now time.Time) (after time.Duration, asked bool) {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil {
		return time.Duration(min(seconds, uint64(longestAsked/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs // the clocks may differ
	}
	return min(max(at.Sub(now), 0), longestAsked), true
}
