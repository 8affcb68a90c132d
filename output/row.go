package output

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"dwatch/watcher/event"
)

// unknown is in the cells of which nothing is known, as with kubectl.
const unknown = "<unknown>"

// columnSet are the columns that the server has for a resource.
type columnSet struct {
	definitions []metav1.TableColumnDefinition
	// text is the definitions as JSON.
	text string
}

// fewColumns are kubectl's for an object of which the server makes no table.
var fewColumns = columnSet{definitions: []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name"}, {Name: "Age", Type: "string"},
}}

// parse takes the columns that a row comes with; they are nearly always the same.
func (c *columnSet) parse(definitions gjson.Result) error {
	if definitions.Raw == c.text {
		return nil
	}
	c.text, c.definitions = strings.Clone(definitions.Raw), nil
	if err := json.Unmarshal([]byte(c.text), &c.definitions); err != nil {
		return fmt.Errorf("read the columns of a table: %w", err)
	}
	return nil
}

// isName: the column has the name of the object, to which the kind is added where there
// are several.
func isName(c metav1.TableColumnDefinition) bool { return c.Format == "name" && c.Type == "string" }

// cells returns the cells of an object, one for each of the columns that it sets c to. Of
// an object of which only the identity is known c stays as it is, if it has columns.
func (c *columnSet) cells(o event.Object) ([]string, error) {
	if row := o.Row(); row != "" {
		if err := c.parse(gjson.Get(row, "columnDefinitions")); err != nil {
			return nil, err
		}
		return c.rowCells(gjson.Get(row, "cells"))
	}
	created := gjson.Get(o.Raw(), "metadata.creationTimestamp")
	if len(c.definitions) == 0 || created.Exists() {
		*c = fewColumns
		return []string{o.Name, HowLong(time.Now(), created.Time())}, nil
	}
	cells := make([]string, len(c.definitions))
	for i, definition := range c.definitions {
		if cells[i] = unknown; isName(definition) {
			cells[i] = o.Name
		}
	}
	return cells, nil
}

func (c *columnSet) rowCells(values gjson.Result) (cells []string, err error) {
	values.ForEach(func(_, value gjson.Result) bool {
		var text string
		text, err = cellText(value)
		cells = append(cells, text)
		// A server may send more cells than columns (kubernetes/kubernetes#66379).
		return err == nil && len(cells) < len(c.definitions)
	})
	for len(cells) < len(c.definitions) {
		cells = append(cells, "")
	}
	return cells, err
}

// Cells returns n of the cells of a row, a JSON array of a Table of the API, as kubectl
// prints them: safe for a terminal, and empty where there are less.
func Cells(row string, n int) ([]string, error) {
	c := columnSet{definitions: make([]metav1.TableColumnDefinition, n)}
	cells, err := c.rowCells(gjson.Parse(row))
	for i, cell := range cells {
		cells[i] = strings.Clone(Line(cell)) // not a part of the whole row
	}
	return cells, err
}

// cellText is the value of a cell as kubectl prints it.
func cellText(value gjson.Result) (string, error) {
	switch value.Type {
	case gjson.String:
		if i := strings.IndexAny(value.Str, "\f\n\r"); i >= 0 {
			return printers.EscapeTerminal(value.Str[:i]) + "...", nil
		}
		return printers.EscapeTerminal(value.Str), nil
	case gjson.Number:
		if whole, err := strconv.ParseInt(value.Raw, 10, 64); err == nil {
			return strconv.FormatInt(whole, 10), nil
		}
		return fmt.Sprint(value.Num), nil
	case gjson.Null:
		return "", nil
	case gjson.True, gjson.False:
		return value.Raw, nil
	default:
		var decoded any
		if err := utiljson.Unmarshal([]byte(value.Raw), &decoded); err != nil {
			return "", fmt.Errorf("read a cell of a table: %w", err)
		}
		return printers.EscapeTerminal(fmt.Sprint(decoded)), nil
	}
}

// HowLong is how long ago something was, as kubectl says it; that is not known if then is
// zero.
func HowLong(now, then time.Time) string {
	if then.IsZero() {
		return unknown
	}
	return duration.HumanDuration(max(now.Sub(then), 0))
}

// labelCells returns the values of some labels, and all of them if all is set.
func labelCells(o event.Object, names []string, all bool) []string {
	set := labels.Set{}
	gjson.Get(o.Raw(), "metadata.labels").ForEach(func(name, value gjson.Result) bool {
		set[name.Str] = value.Str
		return true
	})
	var cells []string
	for _, name := range names {
		cells = append(cells, set[name])
	}
	if all {
		cells = append(cells, labels.FormatLabels(set))
	}
	return cells
}

// LabelHeader is the name of a column for a label.
func LabelHeader(name string) string { return strings.ToUpper(name[strings.LastIndex(name, "/")+1:]) }
