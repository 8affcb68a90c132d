package resume

import (
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
)

// TestEnableDigests checks that states reported after EnableDigests have digests, and that the
// format then prevents older versions of dwatch from using the file.
func TestEnableDigests(t *testing.T) {
	path := newPath(t)
	report(t, path, pods, "ADDED web/1/5", "ADDED db/2/6")
	var keys []string
	run := func(events ...string) (got map[string]string) {
		f := openMine(t, path)
		defer f.Close()
		if err := f.EnableDigests(func(key []byte) func(event.Object) string {
			keys = append(keys, string(key))
			return func(o event.Object) string { return "of-" + o.Name + "-" + o.ResourceVersion }
		}); err != nil {
			t.Fatal(err)
		}
		got = map[string]string{}
		if _, err := f.History(pods, func(r event.ReportedObject) {
			got[r.Name] = r.ResourceVersion + strings.TrimPrefix(" "+r.Digests, " of-")
		}); err != nil {
			t.Fatal(err)
		}
		newReader(t, f).report(pods, events...)
		return got
	}
	version := func() (version string) {
		changeStore(t, path, func(tx *bolt.Tx) error {
			version = string(tx.Bucket(headerBucket).Get(formatKey))
			return nil
		})
		return version
	}
	if version() != "2" {
		t.Errorf("format %s without digests", version())
	}
	if got := run("MODIFIED web/1/7"); got["web"] != "5 " || got["db"] != "6 " {
		t.Errorf("%q", got)
	}
	if version() != "4" {
		t.Errorf("format %s", version())
	}
	if got := run("DELETED db/2/8", "ADDED new/3/9"); got["web"] != "7web-7" || got["db"] != "6 " {
		t.Errorf("%q", got)
	}
	report(t, path, pods, "MODIFIED web/1/10") // without any
	if got := run(); got["web"] != "10 " || got["new"] != "9new-9" || len(got) != 2 {
		t.Errorf("%q", got)
	}
	if version() != "4" || len(keys[0]) != digestKeySize || keys[0] != keys[1] || keys[0] != keys[2] {
		t.Errorf("format %s, keys %q", version(), keys)
	}
}
