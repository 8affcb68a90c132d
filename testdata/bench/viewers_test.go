package main

import "testing"

// TestPageTap checks that the address is found in lines with and without a timestamp.
func TestPageTap(t *testing.T) {
	for _, line := range []string{"", "2026-01-31T02:00:00.123+00:00 "} {
		tap := newPageTap()
		for _, part := range []string{line + "watching\n" + line + "page: http://127.0.0.1:1/", "?token=a\n", line + "end\n"} {
			if _, err := tap.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case found := <-tap.found:
			if found.String() != "http://127.0.0.1:1/?token=a" {
				t.Errorf("%q: found %s", line, found)
			}
		default:
			t.Errorf("%q: no address was found", line)
		}
	}
}
