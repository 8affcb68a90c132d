package resume

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

func ofShard(number, of int) Header {
	h := mine
	h.Selection.Shard = event.Shard{Number: number, Count: of}
	return h
}

// uidIn returns a new UID that belongs to a shard.
func uidIn(s event.Shard, n int) string {
	for i := 0; ; i++ {
		if uid := fmt.Sprintf("u%d-%d", n, i); s.Has(types.UID(uid)) {
			return uid
		}
	}
}

type opened struct {
	t    *testing.T
	file *File
	r    *reader
	h    *Handover
}

// openAs opens a file for a shard. existing are the UIDs of the server's objects.
func openAs(t *testing.T, path string, header Header, existing *[]string) *opened {
	t.Helper()
	f, err := Open(path, header)
	if err != nil {
		t.Fatal(err)
	}
	one := &opened{t: t, file: f, r: newReader(t, f)}
	if one.h, err = NewHandover(f, one.r.stage); err != nil {
		t.Fatal(err)
	}
	if one.h != nil {
		one.h.ListIdentities = func(context.Context, event.Target) (all []*event.Identity, err error) {
			for _, uid := range *existing {
				all = append(all, &event.Identity{UID: types.UID(uid)})
			}
			return all, nil
		}
	}
	return one
}

func (o *opened) deliver(events ...string) {
	o.t.Helper()
	var batch []event.Event
	for _, text := range events {
		e := parse(o.t, pods, text)
		e.Listed = true
		batch = append(batch, e)
	}
	var to event.Sink = o.r.stage
	if o.h != nil {
		to = o.h
	}
	if err := to.Deliver(o.t.Context(), batch); err != nil {
		o.t.Fatal(err)
	}
}

// close closes the file and returns the delivered events.
func (o *opened) close() (got []string) {
	o.t.Helper()
	if err := errors.Join(o.r.stage.Close(), o.file.Close()); err != nil {
		o.t.Fatal(err)
	}
	close(o.r.got)
	for text := range o.r.got {
		got = append(got, strings.Fields(strings.ReplaceAll(text, " ", "_"))...)
	}
	return got
}

// TestReshard checks that objects of other shards are looked up repeatedly, that missing ones are
// reported as deleted, and that the others are removed from the file without an event after the
// last lookup.
func TestReshard(t *testing.T) {
	path := newPath(t)
	half, other := event.Shard{Number: 1, Count: 4}, event.Shard{Number: 2, Count: 4} // together 1/2
	stays, gone, later, left := uidIn(half, 1), uidIn(other, 2), uidIn(other, 3), uidIn(other, 4)
	first := openAs(t, path, ofShard(1, 2), nil)
	first.deliver("ADDED stays/"+stays+"/1", "ADDED gone/"+gone+"/2", "ADDED later/"+later+"/3", "ADDED left/"+left+"/4", "SYNCED")
	first.close()

	existing := []string{stays, later, left}
	one := openAs(t, path, ofShard(1, 4), &existing)
	if one.h.ObjectCount() != 3 {
		t.Errorf("%d objects belong to other shards", one.h.ObjectCount())
	}
	if _, err := one.h.lookUp(t.Context(), one.h.order[0], false); err != nil {
		t.Fatal(err)
	}
	// If the run ends here, the file must still know the foreign objects.
	if got := one.close(); !cmp.Equal(got, []string{"DELETED_gone"}) {
		t.Errorf("after the first run: %s", got)
	}
	one = openAs(t, path, ofShard(1, 4), &existing)
	existing = []string{stays, left}
	if err := one.h.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := one.close(); !cmp.Equal(got, []string{"DELETED_later"}) || one.h.DeletedCount() != 1 {
		t.Errorf("after the last lookup: %s", got)
	}
	f, err := Open(path, ofShard(1, 4))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if all, err := foreignTargets(f); err != nil || len(all) != 1 || len(all[0].Objects) > 0 {
		t.Errorf("remaining foreign objects: %+v, %v", all, err)
	}
	if got, complete := reported(t, f, pods); !cmp.Equal(got, []string{"stays/" + stays + "/1"}) || !complete {
		t.Errorf("%s", got)
	}
}

// TestReshardBack checks that foreign objects are restored if the number of shards changes back
// before they are removed, unless a new object has the same name.
func TestReshardBack(t *testing.T) {
	path := newPath(t)
	half, other := event.Shard{Number: 1, Count: 4}, event.Shard{Number: 2, Count: 4}
	a, b, c := uidIn(half, 1), uidIn(other, 2), uidIn(other, 3)
	first := openAs(t, path, ofShard(1, 2), nil)
	first.deliver("ADDED a/"+a+"/1", "ADDED b/"+b+"/2", "ADDED c/"+c+"/3", "SYNCED")
	first.close()
	new := uidIn(half, 4)
	existing := []string{a, b, new}
	second := openAs(t, path, ofShard(1, 4), &existing)
	second.deliver("ADDED c/" + new + "/5")
	if got := second.close(); !cmp.Equal(got, []string{"DELETED_c", "ADDED_c"}) {
		t.Errorf("the object with a reused name: %s", got)
	}
	back := openAs(t, path, ofShard(1, 2), &existing)
	got, _ := reported(t, back.file, pods)
	if slices.Sort(got); !cmp.Equal(got, []string{"a/" + a + "/1", "b/" + b + "/2", "c/" + new + "/5"}) {
		t.Errorf("%s", got)
	}
	back.close()
}

// TestReshardInitial checks that objects that came from another shard count as initial, and unknown
// objects of the previous shard as new. A shard number above the count selects nothing.
func TestReshardInitial(t *testing.T) {
	path := newPath(t)
	first := openAs(t, path, ofShard(1, 4), nil)
	first.deliver("SYNCED")
	first.close()
	one := openAs(t, path, ofShard(1, 2), nil)
	var got []string
	next := one.h.next
	one.h.next = event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		for _, e := range batch {
			if e.Initial {
				got = append(got, e.Object.Name)
			}
		}
		return next.Deliver(ctx, batch)
	})
	one.deliver("ADDED new/"+uidIn(event.Shard{Number: 1, Count: 4}, 1)+"/1", "ADDED came/"+uidIn(event.Shard{Number: 2, Count: 4}, 2)+"/2", "SYNCED")
	one.deliver("ADDED later/" + uidIn(event.Shard{Number: 2, Count: 4}, 3) + "/3")
	one.close()
	if !cmp.Equal(got, []string{"came"}) {
		t.Errorf("initial: %s", got)
	}
	existing := []string{}
	many := openAs(t, path, ofShard(3, 2), &existing)
	if err := many.h.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := many.close(); len(got) != 3 {
		t.Errorf("shard above the count: %s", got)
	}
}

// TestReshardLookupFails checks that a failed lookup is repeated and does not delay other targets.
func TestReshardLookupFails(t *testing.T) {
	path := newPath(t)
	other := event.Shard{Number: 2, Count: 4}
	services := targetOf("services", "a", "")
	first := openAs(t, path, ofShard(1, 2), nil)
	first.deliver("ADDED late/"+uidIn(other, 1)+"/1", "SYNCED")
	if err := first.r.stage.Deliver(t.Context(), []event.Event{parse(t, services, "ADDED gone/"+uidIn(other, 2)+"/2"), parse(t, services, "SYNCED")}); err != nil {
		t.Fatal(err)
	}
	first.close()
	one := openAs(t, path, ofShard(1, 4), nil)
	var deleted []string
	next := one.h.next
	one.h.next = event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		for _, e := range batch {
			deleted = append(deleted, e.Object.Name)
		}
		return next.Deliver(ctx, batch)
	})
	one.h.LookupDelays, one.h.RetryInterval = []time.Duration{time.Millisecond}, time.Millisecond
	one.h.ListIdentities = func(_ context.Context, of event.Target) ([]*event.Identity, error) {
		if of.Key() == pods.Key() && len(deleted) == 0 {
			return nil, errors.New("forbidden")
		}
		return nil, nil
	}
	if err := one.h.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	one.close()
	if !cmp.Equal(deleted, []string{"gone", "late"}) {
		t.Errorf("deleted: %s", deleted)
	}
}

// TestReshardGone checks that foreign objects are reported as deleted if their resource is gone.
func TestReshardGone(t *testing.T) {
	path := newPath(t)
	other := event.Shard{Number: 2, Count: 4}
	first := openAs(t, path, ofShard(1, 2), nil)
	first.deliver("ADDED a/"+uidIn(other, 1)+"/1", "ADDED b/"+uidIn(other, 2)+"/2", "SYNCED")
	first.close()
	one := openAs(t, path, ofShard(1, 4), nil)
	one.deliver("GONE")
	if got := one.close(); !cmp.Equal(got, []string{"DELETED_a", "DELETED_b"}) {
		t.Errorf("%s", got)
	}
}

// TestReshardOrphan checks that a target with only foreign objects is an orphan, because their
// deletions would not be detected otherwise.
func TestReshardOrphan(t *testing.T) {
	path := newPath(t)
	other := event.Shard{Number: 2, Count: 4}
	first := openAs(t, path, ofShard(1, 2), nil)
	first.deliver("ADDED a/"+uidIn(other, 1)+"/1", "SYNCED")
	first.close()
	existing := []string{}
	one := openAs(t, path, ofShard(1, 4), &existing)
	if o := one.file.OrphanedTargets("", nil); len(o) != 1 || o[0].Key() != pods.Key() {
		t.Errorf("orphans: %+v", o)
	}
	if err := one.h.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	one.close()
	one = openAs(t, path, ofShard(1, 4), &existing)
	if o := one.file.OrphanedTargets("", nil); len(o) > 0 {
		t.Errorf("got orphans %+v, want none", o)
	}
	one.close()
}

// TestReshardVersion checks that lookups use the version of the resource that the server serves
// now.
func TestReshardVersion(t *testing.T) {
	path := newPath(t)
	first := openAs(t, path, ofShard(1, 2), nil)
	first.deliver("ADDED a/"+uidIn(event.Shard{Number: 2, Count: 4}, 1)+"/1", "SYNCED")
	first.close()
	newer := pods
	newer.Mapping = event.NewMapping(pods.Resource().GroupResource().WithVersion("v2"), "Pod", true)
	one := openAs(t, path, ofShard(1, 4), nil)
	one.h.ListIdentities = func(_ context.Context, of event.Target) ([]*event.Identity, error) {
		if of.Resource() != newer.Resource() {
			return nil, errors.New("the server could not find the requested resource")
		}
		return nil, nil
	}
	if err := one.h.Deliver(t.Context(), []event.Event{{Type: event.Synced, Target: newer}}); err != nil {
		t.Fatal(err)
	}
	if known, err := one.h.lookUp(t.Context(), one.h.order[0], false); !known || err != nil {
		t.Errorf("known: %t, %v", known, err)
	}
	if got := one.close(); !cmp.Equal(got, []string{"DELETED_a"}) {
		t.Errorf("%s", got)
	}
}
