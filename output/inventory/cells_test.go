package inventory

import (
	"testing"
	"time"
)

// TestSameCells checks that cells are equal if they only differ in their ages.
func TestSameCells(t *testing.T) {
	of := func(cells string, times ...columnTime) *tableRow {
		return &tableRow{cells: cells, times: times}
	}
	at := start
	for _, one := range []struct {
		before, now *tableRow
		same        bool
	}{
		{of(`["a","5m","1 (3m ago)","x"]`), of(`["a","6m","1 (4m ago)","x"]`), true},
		{of(`["a","5m","1 (3m ago)","x"]`), of(`["a","6m","2 (4m ago)","x"]`), false},
		{of(`["a","5m","0","5m"]`), of(`["a","5m","0","6m"]`), false}, // not an age column
		{of(`["a","<none>","0","x"]`), of(`["a","6m","0","x"]`), false},
		{of(`["a","5m","0"]`), of(`["a","5m"]`), false},
		{of(`["a"]`, columnTime{start: at}), of(`["a"]`, columnTime{start: at.Add(time.Second)}), false},
		{of(``), of(``), true},
	} {
		all := &columns{all: []Column{{}, {AgeFormat: AgeWhole}, {AgeFormat: AgeSuffix}, {}}}
		one.before.columns, one.now.columns = all, all
		if got := one.now.sameCells(one.before); got != one.same {
			t.Errorf("%s and %s: got %v, want %v", one.before.cells, one.now.cells, got, one.same)
		}
		if one.now.columns = new(columns); one.now.sameCells(one.before) {
			t.Error("cells of different columns are the same")
		}
	}
}
