package cli

import (
	"context"

	"dwatch/cli/cluster"
	"dwatch/output/deliver/webhook"
)

// newWebhook prepares the receiver of --to https://.
func (d *delivery) newWebhook(c *console) (*receiver, error) {
	w, err := webhook.New(webhook.Options{
		URL:        d.URL,
		Structured: d.Structured,
		UserAgent:  userAgent(),
		Workers:    d.Workers,
		Deadline:   d.Deadline,
		Token:      d.Token,
		Headers:    d.Headers,
		Signing:    d.Signing,
		Cert:       d.Cert,
		Key:        d.Key,
		CA:         d.CA,
	})
	if err != nil {
		return nil, err
	}
	if d.InClear() {
		c.say("warning: --to http:// sends the events in the clear: anybody on the way can read and change them")
	}
	return &receiver{
		Receiver: w,
		name:     d.URL.Scheme + "://" + d.URL.Host,
		begin: func(ctx context.Context, _ *console, k *cluster.Cluster) error {
			return giveSource(ctx, k, w.SetSource)
		},
		close: w.Close,
	}, nil
}
