package resume

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"dwatch/watcher/event"
)

// refused opens the file, which must fail with a single line that matches pattern.
func refused(t *testing.T, path string, h Header, pattern string) {
	t.Helper()
	f, err := Open(path, h)
	if err == nil {
		f.Close()
		t.Fatalf("Open succeeded, want error %s", pattern)
	}
	pattern = "^state file " + regexp.QuoteMeta(path) + ": " + pattern + "$"
	if !regexp.MustCompile(pattern).MatchString(err.Error()) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q, want %s", err, pattern)
	}
}

var allPods = event.Selection{Resources: []event.SelectedResource{{Resource: "pods"}}, AllNamespaces: true}

func TestOpenForOther(t *testing.T) {
	unknown := func(server string) Header { return Header{Server: server, Selection: allPods} }
	known := func(server, cluster string) Header { return Header{server, cluster, allPods} }
	other := allPods
	other.Labels = "app=web"
	for name, test := range map[string]struct {
		made, now Header
		want      string // empty if Open must succeed
	}{
		"the same":                           {known("a:1", "1"), known("a:1", "1"), ""},
		"the cluster moved":                  {known("a:1", "1"), known("b:1", "1"), ""},
		"another cluster there":              {known("a:1", "1"), known("a:1", "2"), `it was made for another cluster \(at a:1\) than the one at a:1: use another file, or delete it to start over`},
		"another cluster":                    {known("a:1", "1"), known("b:1", "2"), `it was made for another cluster \(at a:1\) than the one at b:1: .*`},
		"unknown, the same address":          {unknown("a:1"), unknown("a:1"), ""},
		"unknown, another address":           {unknown("a:1"), unknown("b:1"), `it was made for the server a:1, not for b:1 \(.*kube-system\): .*`},
		"no right any more":                  {known("a:1", "1"), unknown("a:1"), ""},
		"no right any more, another address": {known("a:1", "1"), unknown("b:1"), `it was made for the server a:1, not for b:1 .*`},
		"another selection": {known("a:1", "1"), Header{"a:1", "1", other},
			`it was made for pods in all namespaces, not for pods in all namespaces, with labels app=web: use another file, or delete it to start over`},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			f, err := Open(path, test.made)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
			if test.want != "" {
				refused(t, path, test.now, test.want)
				return
			}
			if f, err = Open(path, test.now); err != nil {
				t.Fatal(err)
			}
			f.Close()
		})
	}
}

// TestClusterIsRemembered checks that a run that can't identify its cluster keeps the recorded
// identity.
func TestClusterIsRemembered(t *testing.T) {
	path := newPath(t)
	for _, h := range []Header{{"a:1", "1", allPods}, {"a:1", "", allPods}, {"b:1", "1", allPods}, {"b:1", "", allPods}} {
		f, err := Open(path, h)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	refused(t, path, Header{"b:1", "2", allPods}, `it was made for another cluster \(at b:1\) .*`)
}

func TestLock(t *testing.T) {
	path := newPath(t)
	f := openMine(t, path)
	refused(t, path, mine, "another dwatch is using it: end that process, or use another file")
	f.Close()
	openMine(t, path).Close()
}

// TestLockNewFile checks that only one of many processes that create the file can open it.
func TestLockNewFile(t *testing.T) {
	path := newPath(t)
	var group sync.WaitGroup
	files := make(chan *File, 10)
	for range cap(files) {
		group.Go(func() {
			if f, err := Open(path, mine); err == nil {
				files <- f
			}
		})
	}
	group.Wait()
	if len(files) != 1 {
		t.Errorf("%d of %d opened the file, want 1", len(files), cap(files))
	}
	close(files)
	for f := range files {
		f.Close()
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left over: %s", left)
	}
}

func TestNewFile(t *testing.T) {
	path := newPath(t)
	f := openMine(t, path)
	defer f.Close()
	if !f.IsNew() {
		t.Error("IsNew is false")
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", info.Mode())
	}
}

// TestEmptyFile checks that an empty file, as mktemp creates, counts as new.
func TestEmptyFile(t *testing.T) {
	path := newPath(t)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	report(t, path, pods, "ADDED web/1/5")
	if got, _ := reportedAt(t, path, pods); !cmp.Equal(got, []string{"web/1/5"}) {
		t.Error(got)
	}
}

// changeStore changes the database of a closed File.
func changeStore(t *testing.T, path string, change func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(change); err != nil {
		t.Fatal(err)
	}
}

func TestNoStateFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := "it is not a state file of dwatch: use another file"
	refused(t, write("short", "hello"), mine, foreign)
	refused(t, write("text", strings.Repeat("hello\n", 10000)), mine, foreign)
	refused(t, write("zeros", strings.Repeat("\x00", 65536)), mine, foreign)
	refused(t, dir, mine, "it is not a regular file: use another file")
	refused(t, os.DevNull, mine, "it is not a regular file: use another file")
	refused(t, filepath.Join(dir, "none", "state"), mine, "no such file or directory")
	refused(t, filepath.Join(dir, "text", "state"), mine, "not a directory")

	other := filepath.Join(dir, "other")
	changeStore(t, other, func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte("somebody's"))
		return err
	})
	refused(t, other, mine, foreign)

	newer := filepath.Join(dir, "newer")
	report(t, newer, pods, "ADDED web/1/5")
	changeStore(t, newer, func(tx *bolt.Tx) error { return tx.Bucket(headerBucket).Put(formatKey, []byte("7")) })
	refused(t, newer, mine, "it was written by a newer dwatch, in format 7, and this one knows 6: use that dwatch, or another file")
}

// TestOlderFormat checks that a file of format 1 is refused with instructions.
func TestOlderFormat(t *testing.T) {
	path := newPath(t)
	report(t, path, pods, "ADDED web/1/5")
	changeStore(t, path, func(tx *bolt.Tx) error {
		b := tx.Bucket(headerBucket)
		return errors.Join(b.Put(formatKey, []byte("1")), b.Put(headerKey, []byte(`{"server":"host:6443","arguments":"pods in namespace a"}`)))
	})
	refused(t, path, mine, "it was written by an older dwatch, in format 1, .*: use that dwatch, or delete the file to start over")
}

// fill writes a file with so many objects that it has many pages of all kinds.
func fill(t testing.TB, path string) []string {
	t.Helper()
	var events, want []string
	for i := range 2000 {
		events = append(events, fmt.Sprintf("ADDED pod-%04d/a0000000-0000-0000-0000-00000000%04d/%d", i, i, i))
		want = append(want, strings.TrimPrefix(events[i], "ADDED "))
	}
	f := openMine(t, path)
	defer f.Close()
	for len(events) > 0 { // several commits leave free pages
		r := newReader(t, f)
		if err := errors.Join(r.deliver(pods, events[:100]...), r.stage.Close()); err != nil {
			t.Fatal(err)
		}
		events = events[100:]
	}
	return want
}

// isDamaged reports whether the file at path is refused as damaged. If it is not, isDamaged checks
// that it has all objects.
func isDamaged(t *testing.T, path string, want []string) (damaged bool) {
	t.Helper()
	f, err := Open(path, mine)
	if err != nil {
		if !regexp.MustCompile(`: it is (damaged \(.*\): delete it to start over|not a state file of dwatch: .*)$`).MatchString(err.Error()) {
			t.Error(err)
		}
		return true
	}
	defer f.Close()
	if got, _ := reported(t, f, pods); !cmp.Equal(got, want) {
		t.Errorf("%d objects, want %d", len(got), len(want))
	}
	return false
}

func TestTruncated(t *testing.T) {
	path := newPath(t)
	want := fill(t, path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refusals := 0
	for n := len(text) - 1; n > 0; n -= 1000 {
		cut := newPath(t)
		if err := os.WriteFile(cut, text[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if isDamaged(t, cut, want) {
			refusals++
		}
	}
	if refusals < len(text)/2000 {
		t.Errorf("only %d of %d truncated files were refused", refusals, len(text)/1000)
	}
}

// TestDamagedPages checks files in which a page is zeroed, replaced by another one, or reversed.
func TestDamagedPages(t *testing.T) {
	path := newPath(t)
	want := fill(t, path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	refusals := 0
	for at := 0; at+page <= len(text); at += page {
		for name, damage := range map[string][]byte{
			"zeros": make([]byte, page),
			"ones":  bytes.Repeat([]byte{255}, page),
			"other": text[len(text)-at-page : len(text)-at],
			"shift": append([]byte{1, 2, 3}, text[at:at+page-3]...),
		} {
			damaged := bytes.Clone(text)
			copy(damaged[at:], damage)
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if isDamaged(t, path, want) {
				refusals++
			}
			os.Remove(path)
		}
	}
	if refusals == 0 {
		t.Error("no damaged file was refused")
	}
}
