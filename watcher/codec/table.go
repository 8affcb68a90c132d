package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Where a shallow object that came as a row of a table holds its cells, and the definitions of the
// columns if the server sent them with it, as JSON.
const (
	cellsKey   = "\x00cells"
	columnsKey = "\x00columns"
)

// NewTableClient is NewClient for the rows that the server would show of objects
// (kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables). A row is a
// shallow object, whose content is the metadata (a PartialObjectMetadata), or the object if whole is
// set; see [Columns]. A server that has no tables sends objects.
func NewTableClient(config *rest.Config, client *http.Client, o Options, whole bool) (*dynamic.DynamicClient, error) {
	tables := withRequest(client, func(r *http.Request) {
		r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json")
		if whole {
			query := r.URL.Query()
			query.Set("includeObject", "Object")
			r.URL.RawQuery = query.Encode()
		}
	})
	rows := o.scanner()
	rows.tables = true
	return newClient(config, tables, rows)
}

// isTable reports whether an object is a table that was asked for.
func (s scanner) isTable(t typeMeta) bool {
	return s.tables && t.kind == "Table" && strings.HasPrefix(t.apiVersion, "meta.k8s.io/")
}

// row makes a shallow object of a table of one row, as a watch has it.
func (s scanner) row(table string) (*unstructured.Unstructured, error) {
	rows := gjson.Get(table, "rows").Array()
	if len(rows) != 1 {
		return nil, fmt.Errorf("the server sent a table of %d rows as one object", len(rows))
	}
	u, err := s.cells(rows[0])
	if err != nil {
		return nil, err
	}
	if columns := compactColumns(gjson.Get(table, "columnDefinitions")); columns != "" {
		u.Object[columnsKey] = columns
	}
	return u, nil
}

// rows makes shallow objects of the rows of a list.
func (s scanner) rows(table gjson.Result, into *unstructured.UnstructuredList) error {
	rows := table.Get("rows")
	if !rows.IsArray() {
		return nil // none, as null
	}
	columns := Columns{compactColumns(table.Get("columnDefinitions"))}
	return s.collect(rows, into, func(row gjson.Result) (*unstructured.Unstructured, error) {
		u, err := s.cells(row)
		if err == nil {
			columns.Complete(u)
		}
		return u, err
	})
}

// cells makes a shallow object of a row.
func (s scanner) cells(row gjson.Result) (*unstructured.Unstructured, error) {
	object := row.Get("object")
	if !object.IsObject() {
		return nil, fmt.Errorf("the server sent a row of a table without its object")
	}
	u, err := s.object(object.Raw, typeMeta{})
	if err == nil && u == nil {
		err = fmt.Errorf("the server sent a row of a table with something else than an object")
	}
	if err != nil {
		return nil, err
	}
	u.Object[cellsKey] = oneLine(row.Get("cells").Raw)
	return u, nil
}

// oneLine is JSON in memory of its own.
func oneLine(text string) string {
	var line bytes.Buffer
	if strings.ContainsAny(text, "\r\n") && json.Compact(&line, []byte(text)) == nil {
		return line.String()
	}
	return strings.Clone(text)
}

// compactColumns is the definitions of columns without their descriptions, which are longer than
// all the rest; empty if there are none.
func compactColumns(definitions gjson.Result) string {
	if !definitions.IsArray() {
		return ""
	}
	columns := []byte("[")
	definitions.ForEach(func(_, definition gjson.Result) bool {
		if len(columns) > 1 {
			columns = append(columns, ',')
		}
		columns = fmt.Appendf(columns, `{"name":%s,"type":%s,"format":%s,"priority":%d}`,
			quote(definition.Get("name").String()), quote(definition.Get("type").String()),
			quote(definition.Get("format").String()), definition.Get("priority").Int())
		return true
	})
	return string(append(columns, ']'))
}

// Columns are those of one watch, or of one list, which the server sends with the first row only.
type Columns struct{ definitions string }

// Complete adds the columns to a row, or takes them from it, and leaves alone what is no row.
func (c *Columns) Complete(u *unstructured.Unstructured) {
	if definitions, ok := u.Object[columnsKey].(string); ok {
		c.definitions = definitions
		delete(u.Object, columnsKey)
	}
	if cells, ok := u.Object[cellsKey].(string); ok && c.definitions != "" {
		u.Object[cellsKey] = `{"columnDefinitions":` + c.definitions + `,"cells":` + cells + `}`
	}
}

// Row returns what the server shows of an object in a table, as one line of JSON: the cells and,
// without their descriptions, columnDefinitions; empty if it did not come as a complete row.
func TableRow(u *unstructured.Unstructured) string {
	row, _ := u.Object[cellsKey].(string)
	if !strings.HasPrefix(row, "{") {
		return ""
	}
	return row
}

// IsMetadata reports whether u came as nothing but metadata, which does not name the type.
func IsMetadataOnly(u *unstructured.Unstructured) bool {
	return u.GetKind() == "PartialObjectMetadata" && strings.HasPrefix(u.GetAPIVersion(), "meta.k8s.io/")
}
