package codec

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	oneColumn = `[{"name":"Name","type":"string","format":"name","description":"long","priority":0},{"name":"N","type":"integer","format":"","priority":1}]`
	compacted = `[{"name":"Name","type":"string","format":"name","priority":0},{"name":"N","type":"integer","format":"","priority":1}]`
	oneRow    = `{"cells":["a",{"x":[1.50]}],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","managedFields":[{}]}}}`
	metaOnly  = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"}}`
)

func tableOf(columns, rows string) string {
	return `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9","continue":"c"},"columnDefinitions":` + columns + `,"rows":` + rows + `}`
}

// The server sends the columns with the first row of a watch. Each row must get them.
func TestRows(t *testing.T) {
	s := scanner{tables: true}
	var columns Columns
	for i, definitions := range []string{oneColumn, "null", oneColumn} {
		u, err := s.object(tableOf(definitions, "["+oneRow+"]"), typeMeta{})
		if err != nil {
			t.Fatal(err)
		}
		columns.Complete(u)
		if want := `{"columnDefinitions":` + compacted + `,"cells":["a",{"x":[1.50]}]}`; TableRow(u) != want {
			t.Errorf("row %d is %s, want %s", i, TableRow(u), want)
		}
		if id := IdentityOf(u); Content(u) != metaOnly || id.Name != "a" || id.Namespace != "n" || id.UID != "u" || id.ResourceVersion != "7" || !IsMetadataOnly(u) {
			t.Errorf("%s, %+v", Content(u), id)
		}
	}
	u, err := s.object(tableOf("null", "["+oneRow+"]"), typeMeta{})
	if err != nil {
		t.Fatal(err)
	}
	new(Columns).Complete(u)
	if TableRow(u) != "" {
		t.Errorf("a row without columns: %s", TableRow(u))
	}
}

// A list has columns, and may be split into pages. For an informer it must not be a Table.
func TestTableList(t *testing.T) {
	for _, text := range []string{tableOf(oneColumn, "["+oneRow+","+oneRow+"]"), strings.ReplaceAll(tableOf(oneColumn, "["+oneRow+","+oneRow+"]"), ",", ",\n  ")} {
		list := &unstructured.UnstructuredList{}
		if ok, err := (scanner{tables: true}).list(text, list); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if len(list.Items) != 2 || list.GetKind() == "Table" || list.GetResourceVersion() != "9" || list.GetContinue() != "c" {
			t.Errorf("%+v", list)
		}
		for i := range list.Items {
			u := &list.Items[i]
			if strings.Contains(TableRow(u), "\n") || !strings.HasPrefix(TableRow(u), `{"columnDefinitions":`+compacted) || Content(u) != metaOnly {
				t.Errorf("%s, %s", TableRow(u), Content(u))
			}
		}
	}
	empty := &unstructured.UnstructuredList{}
	if ok, err := (scanner{tables: true}).list(tableOf(oneColumn, "null"), empty); !ok || err != nil || len(empty.Items) != 0 {
		t.Error(ok, err, empty)
	}
}

// The first bookmark has the columns if there are no objects.
func TestTableBookmark(t *testing.T) {
	u, err := scanner{tables: true}.object(tableOf(oneColumn, `[{"cells":["",0],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}]`), typeMeta{})
	if err != nil {
		t.Fatal(err)
	}
	var columns Columns
	columns.Complete(u)
	if u.GetName() != "" || u.GetResourceVersion() != "9" || u.GetAnnotations()["k8s.io/initial-events-end"] != "true" || columns.definitions != compacted {
		t.Errorf("%+v, %+v", u, columns)
	}
}

// TestBadRows checks that a list with a row without its object is an error, because it hides an object that exists, and that so is a
// table as an event that does not have exactly one row.
func TestBadRows(t *testing.T) {
	list := &unstructured.UnstructuredList{}
	if _, err := (scanner{tables: true}).list(tableOf(oneColumn, `[`+oneRow+`,{"cells":["x",0]}]`), list); err == nil {
		t.Errorf("a row without its object: got %+v, want an error", list)
	}
	for _, rows := range []string{`[]`, `null`, `{}`, `[` + oneRow + `,` + oneRow + `]`, `[null]`, `[{"cells":[]}]`, `[{"object":[]}]`, `[{"object":{"kind":"Status","apiVersion":"v1","metadata":{}}}]`} {
		if u, err := (scanner{tables: true}).object(tableOf(oneColumn, rows), typeMeta{}); err == nil {
			t.Errorf("%s: %+v", rows, u)
		}
	}
}

// TestUnidentifiableItem checks that a list with an invalid item without a name and uid is an error. If the item were left out, an object
// that exists would count as deleted.
func TestUnidentifiableItem(t *testing.T) {
	list := &unstructured.UnstructuredList{}
	const text = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"data":x},{"metadata":{"name":"a","uid":"u"}}]}`
	if isolated, ok := (scanner{warn: func(string) {}}).isolateItems(text); ok {
		t.Errorf("got %s, want an error", isolated)
	}
	if ok, err := (scanner{warn: func(string) {}}).list(text, list); ok && err == nil {
		t.Errorf("got %+v, want an error", list)
	}
}
