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

// uidIn returns a UID of a shard that nobody has had.
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

// openAs opens a file for a shard. there are the UIDs that the server has.
func openAs(t *testing.T, path string, header Header, there *[]string) *opened {
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
			for _, uid := range *there {
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

// close returns what came.
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

// TestReshard: what is in a file of objects that are of another shard now is looked up again and again: what is gone is reported as
// deleted, and the rest is forgotten, without a word, when the others have had their time.
func TestReshard(t *testing.T) {
	path := newPath(t)
	half, other := event.Shard{Number: 1, Count: 4}, event.Shard{Number: 2, Count: 4} // of 1/2
	stays, gone, later, left := uidIn(half, 1), uidIn(other, 2), uidIn(other, 3), uidIn(other, 4)
	first := openAs(t, path, ofShard(1, 2), nil)
	first.deliver("ADDED stays/"+stays+"/1", "ADDED gone/"+gone+"/2", "ADDED later/"+later+"/3", "ADDED left/"+left+"/4", "SYNCED")
	first.close()

	there := []string{stays, later, left}
	one := openAs(t, path, ofShard(1, 4), &there)
	if one.h.ObjectCount() != 3 {
		t.Errorf("%d objects are of other shards", one.h.ObjectCount())
	}
	if _, err := one.h.lookUp(t.Context(), one.h.order[0], false); err != nil {
		t.Fatal(err)
	}
	// It is ended, and what it knows is not lost.
	if got := one.close(); !cmp.Equal(got, []string{"DELETED_gone"}) {
		t.Errorf("at first: %s", got)
	}
	one = openAs(t, path, ofShard(1, 4), &there)
	there = []string{stays, left}
	if err := one.h.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := one.close(); !cmp.Equal(got, []string{"DELETED_later"}) || one.h.DeletedCount() != 1 {
		t.Errorf("later: %s", got)
	}
	f, err := Open(path, ofShard(1, 4))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if all, err := foreignIn(f); err != nil || len(all) != 1 || len(all[0].Objects) > 0 {
		t.Errorf("left of other shards: %+v, %v", all, err)
	}
	if got, complete := reported(t, f, pods); !cmp.Equal(got, []string{"stays/" + stays + "/1"}) || !complete {
		t.Errorf("%s", got)
	}
}

// TestReshardBack: what was not forgotten yet is known again when there are as many shards as before; unless its name is
// another object's now.
func TestReshardBack(t *testing.T) {
	path := newPath(t)
	half, other := event.Shard{Number: 1, Count: 4}, event.Shard{Number: 2, Count: 4}
	a, b, c := uidIn(half, 1), uidIn(other, 2), uidIn(other, 3)
	first := openAs(t, path, ofShard(1, 2), nil)
	first.deliver("ADDED a/"+a+"/1", "ADDED b/"+b+"/2", "ADDED c/"+c+"/3", "SYNCED")
	first.close()
	new := uidIn(half, 4)
	there := []string{a, b, new}
	second := openAs(t, path, ofShard(1, 4), &there)
	second.deliver("ADDED c/" + new + "/5")
	if got := second.close(); !cmp.Equal(got, []string{"DELETED_c", "ADDED_c"}) {
		t.Errorf("what took the name of another one: %s", got)
	}
	back := openAs(t, path, ofShard(1, 2), &there)
	got, _ := reported(t, back.file, pods)
	if slices.Sort(got); !cmp.Equal(got, []string{"a/" + a + "/1", "b/" + b + "/2", "c/" + new + "/5"}) {
		t.Errorf("%s", got)
	}
	back.close()
}

// TestReshardInitial: what has come to be of the shard existed at the start, for this one; what of the shard before was
// not known is new. A shard too many has nothing.
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
	there := []string{}
	many := openAs(t, path, ofShard(3, 2), &there)
	if err := many.h.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := many.close(); len(got) != 3 {
		t.Errorf("of a shard too many: %s", got)
	}
}

// TestReshardHeldUp: what the server does not tell of one target holds up no other, and is asked again.
func TestReshardHeldUp(t *testing.T) {
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

// TestReshardGone: with a resource go the objects of other shards, too: the server will never tell of them.
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

// TestReshardOrphan: what a file has nothing of but objects of other shards is watched, too, where nothing asks for it any more: that
// the server does not have it is found out by that alone.
func TestReshardOrphan(t *testing.T) {
	path := newPath(t)
	other := event.Shard{Number: 2, Count: 4}
	first := openAs(t, path, ofShard(1, 2), nil)
	first.deliver("ADDED a/"+uidIn(other, 1)+"/1", "SYNCED")
	first.close()
	there := []string{}
	one := openAs(t, path, ofShard(1, 4), &there)
	if o := one.file.OrphanedTargets("", nil); len(o) != 1 || o[0].Key() != pods.Key() {
		t.Errorf("orphans: %+v", o)
	}
	if err := one.h.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	one.close()
	one = openAs(t, path, ofShard(1, 4), &there)
	if o := one.file.OrphanedTargets("", nil); len(o) > 0 {
		t.Errorf("nothing is left, and orphans are %+v", o)
	}
	one.close()
}

// TestReshardVersion: the server is asked in the version that it serves now, and not in that of the last run.
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
