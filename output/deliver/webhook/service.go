package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"dwatch/output/deliver"
)

// Services returns the receivers whose response bodies dwatch reads, because some report a failure in the body of a 200.
func Services() []string { return []string{"slack", "teams", "discord", "grafana"} }

// checkResponse returns what the body of a 2xx response means for a message, as statusError does for other codes. A body that
// says nothing about a failure means that the message was delivered.
func checkResponse(service string, code int, body string) error {
	if service == "" {
		return nil
	}
	answered := fmt.Sprintf("HTTP %d %s", code, http.StatusText(code))
	if start := strings.ToLower(strings.TrimSpace(body)); strings.HasPrefix(start, "<!doctype") || strings.HasPrefix(start, "<html") {
		return fmt.Errorf("%s with a web page instead of a confirmation: check the address, and whether it asks for a login", answered)
	}
	switch service {
	case "teams":
		return checkTeams(answered, body)
	case "slack":
		return checkSlack(answered, body)
	}
	return nil
}

// teamsError is how a webhook of Teams reports the error of the service behind it:
// "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 with ContextId ...".
var teamsError = regexp.MustCompile(`(?i)\bHTTP error (\d{3})\b`)

func checkTeams(answered, body string) error {
	if found := teamsError.FindStringSubmatch(body); found != nil {
		code, _ := strconv.Atoi(found[1]) // three digits
		err := fmt.Errorf("%s, but Teams reports %s", answered, describeStatus(code))
		if _, isRefused := errors.AsType[*deliver.RefusedError](statusError(code, nil, time.Time{})); isRefused {
			return &deliver.RefusedError{Err: err}
		}
		if code == http.StatusTooManyRequests { // the limit is for all messages to the channel
			return &deliver.DownError{Err: err}
		}
		return err
	}
	if strings.Contains(strings.ToLower(body), "message delivery failed") {
		return fmt.Errorf("%s, but Teams reports that it did not deliver the message", answered)
	}
	return nil
}

// slackTemporary lists the errors after which Slack may accept the same message later.
var slackTemporary = []string{"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org", "rollup_error"}

// checkSlack reads the JSON of Slack's API. An incoming webhook answers "ok".
func checkSlack(answered, body string) error {
	if !gjson.Valid(body) || gjson.Get(body, "ok").Type != gjson.False {
		return nil
	}
	reason := gjson.Get(body, "error").String()
	err := fmt.Errorf("%s, but Slack reports %q", answered, reason)
	switch {
	case strings.Contains(reason, "rate"):
		return &deliver.DownError{Err: err}
	case slices.Contains(slackTemporary, reason), reason == "":
		return err
	}
	return &deliver.RefusedError{Err: err}
}
