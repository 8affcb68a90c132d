package main

import "context"

// startOnce returns the seconds from the start of a contender to its first line about the lonely object.
func (b *bench) startOnce(ctx context.Context, c contender) (seconds float64, err error) {
	p, err := start(ctx, c.start, b.env, c.page)
	if err != nil {
		return 0, err
	}
	_, err = p.lines.next(churnTimeout)
	return p.since(p.lines.at), p.end(err)
}
