package cli

import (
	"context"
	"net/url"
	"regexp"

	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/output/deliver/webhook"
)

// openWebhook prepares the receiver of --to https://.
func openWebhook(j *job) (*receiver, error) {
	w, err := webhook.New(webhook.Options{
		URL:        j.address,
		Structured: j.toFormat == "structured",
		UserAgent:  userAgent(),
		Workers:    j.workers,
		Deadline:   j.deadline,
		Token:      j.toToken(),
		Headers:    j.toHeaders(),
		Signing:    j.toSigning(),
		Cert:       j.toCert,
		Key:        j.toKey,
		CA:         j.toCA,
	})
	if err != nil {
		return nil, err
	}
	if j.address.Scheme == "http" && !isLoopback(j.address) {
		report.Line(j.reports, "warning: --to http:// sends the events in the clear: anybody on the way can read and change them")
	}
	return &receiver{
		Receiver: w,
		name:     j.address.Scheme + "://" + j.address.Host,
		begin:    func(ctx context.Context, j *job) error { return j.giveSource(ctx, w.SetSource) },
		close:    w.Close,
	}, nil
}

// giveSource gives a receiver the attribute "source" of its messages.
func (j *job) giveSource(ctx context.Context, set func(source string)) error {
	uid, err := j.Identity(ctx)
	if err != nil {
		return fail.Server(j.Host, err)
	}
	set(sourceOf(uid, j.Host))
	return nil
}

// sourceOf is the attribute "source" of CloudEvents of a cluster: its UID, or where that
// is not known, its address.
func sourceOf(uid, host string) string {
	if is, _ := regexp.MatchString(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, uid); is {
		return "urn:uuid:" + uid
	}
	return (&url.URL{Scheme: "https", Host: host}).String()
}
