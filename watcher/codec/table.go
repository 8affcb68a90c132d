package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Keys of a raw object that came as a row of a table: its cells, and the column definitions if
// the server sent them with it, as JSON.
const (
	cellsKey   = "\x00cells"
	columnsKey = "\x00columns"
)

// NewTableClient is like NewClient, but requests the rows that kubectl would show
// (kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables). A row is a
// raw object, see [Columns]. Its content is the whole object if full is set, and otherwise a
// PartialObjectMetadata. A server that does not support tables sends objects.
func NewTableClient(config *rest.Config, client *http.Client, o Options, full bool) (*dynamic.DynamicClient, error) {
	tables := withRequest(client, func(r *http.Request) {
		r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json")
		if full {
			query := r.URL.Query()
			query.Set("includeObject", "Object")
			r.URL.RawQuery = query.Encode()
		}
	})
	rows := o.scanner()
	rows.tables = true
	return newClient(config, tables, rows)
}

// isTable reports whether an object is a requested table.
func (s scanner) isTable(t typeMeta) bool {
	return s.tables && t.kind == "Table" && strings.HasPrefix(t.apiVersion, "meta.k8s.io/")
}

// row makes a raw object from a table with one row, as watches send it.
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

// rows makes raw objects from the rows of a list.
func (s scanner) rows(table gjson.Result, into *unstructured.UnstructuredList) error {
	rows := table.Get("rows")
	if !rows.IsArray() {
		return nil // null means no rows
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

// cells makes a raw object from a row.
func (s scanner) cells(row gjson.Result) (*unstructured.Unstructured, error) {
	object := row.Get("object")
	if !object.IsObject() {
		return nil, errors.New("the server sent a row of a table without its object")
	}
	u, err := s.object(object.Raw, typeMeta{})
	if err == nil && u == nil {
		err = fmt.Errorf("the server sent a row of a table with an invalid object")
	}
	if err != nil {
		return nil, err
	}
	u.Object[cellsKey] = oneLine(row.Get("cells").Raw)
	return u, nil
}

// oneLine returns a copy of JSON text as one line.
func oneLine(text string) string {
	var line bytes.Buffer
	if strings.ContainsAny(text, "\r\n") && json.Compact(&line, []byte(text)) == nil {
		return line.String()
	}
	return strings.Clone(text)
}

// compactColumns returns column definitions without their descriptions, which are longer than the
// rest. It returns an empty string if there are none.
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

// Columns are the column definitions of one watch or list. The server sends them only with the
// first row.
type Columns struct{ definitions string }

// Complete adds the columns to a row. If u has column definitions, Complete first takes them from
// u. It ignores objects that are not rows.
func (c *Columns) Complete(u *unstructured.Unstructured) {
	if definitions, ok := u.Object[columnsKey].(string); ok {
		c.definitions = definitions
		delete(u.Object, columnsKey)
	}
	if cells, ok := u.Object[cellsKey].(string); ok && c.definitions != "" {
		u.Object[cellsKey] = `{"columnDefinitions":` + c.definitions + `,"cells":` + cells + `}`
	}
}

// TableRow returns the table row of an object as one line of JSON: cells, and columnDefinitions
// without descriptions. It returns an empty string if the object did not come as a row, or before
// Complete.
func TableRow(u *unstructured.Unstructured) string {
	row, _ := u.Object[cellsKey].(string)
	if !strings.HasPrefix(row, "{") {
		return ""
	}
	return row
}

// IsMetadataOnly reports whether u came as a PartialObjectMetadata, which does not name the
// object's type.
func IsMetadataOnly(u *unstructured.Unstructured) bool {
	return u.GetKind() == "PartialObjectMetadata" && strings.HasPrefix(u.GetAPIVersion(), "meta.k8s.io/")
}
