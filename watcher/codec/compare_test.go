package codec_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/codec"
	"dwatch/watcher/event"
)

// compare compares a raw object with the stock client's object from the same bytes, and its
// content with the bytes.
func compare(t *testing.T, raw json.RawMessage, stock, got *unstructured.Unstructured, managedFields bool) {
	t.Helper()
	content := codec.Content(got)
	opened, err := event.NewObject(codec.IdentityOf(got), content).Decode()
	if err != nil {
		t.Fatalf("%v in %.500q", err, content)
	}
	want := stock
	if !managedFields {
		want = stock.DeepCopy()
		want.SetManagedFields(nil)
	}
	if !reflect.DeepEqual(want, opened) {
		t.Errorf("%s: the stock client's (-), the content (+):\n%.2000s", stock.GetName(), cmp.Diff(want, opened))
	}
	if diff := cmp.Diff(headOf(stock), headOf(got)); diff != "" {
		t.Errorf("%s: the stock client's (-), the raw object (+):\n%s", stock.GetName(), diff)
	}
	if strings.ContainsAny(content, "\n\r") {
		t.Errorf("%s: more than one line", stock.GetName())
	}
	compareText(t, raw, content, stock, managedFields)
}

// compareText compares tokens, so that key order and literals must be equal. If nothing had to be
// changed, it compares bytes.
func compareText(t *testing.T, raw json.RawMessage, content string, stock *unstructured.Unstructured, managedFields bool) {
	t.Helper()
	want, err := tokens(string(raw), !managedFields)
	if err != nil {
		t.Fatal(err)
	}
	typed := len(want) > 1 && (want[1] == "string kind" || want[1] == "string apiVersion")
	if !typed { // an item of a typed list
		head := []string{want[0], "string apiVersion", "string " + stock.GetAPIVersion(), "string kind", "string " + stock.GetKind()}
		want = append(head, want[1:]...)
	}
	got, err := tokens(content, false)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%s: the server's tokens (-), the content's (+):\n%.2000s", stock.GetName(), cmp.Diff(want, got))
	}
	indented := strings.Contains(string(raw), "\n")
	if typed && managedFields && !indented && string(raw) != content {
		t.Errorf("%s: the bytes are not the server's", stock.GetName())
	}
}

type head struct {
	APIVersion, Kind, Name, Namespace, UID, ResourceVersion string
}

func headOf(u *unstructured.Unstructured) head {
	return head{u.GetAPIVersion(), u.GetKind(), u.GetName(), u.GetNamespace(), string(u.GetUID()), u.GetResourceVersion()}
}

// tokens returns the tokens of one JSON value with their types. strip omits metadata.managedFields.
func tokens(text string, strip bool) ([]string, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	w := walk{decoder: decoder, strip: strip}
	if err := w.value(""); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more than one value: %v", err)
	}
	return w.found, nil
}

// walk reads the tokens of a JSON value.
type walk struct {
	decoder *json.Decoder
	strip   bool
	found   []string
}

func (w *walk) token() (json.Token, error) {
	token, err := w.decoder.Token()
	w.found = append(w.found, fmt.Sprintf("%T %v", token, token))
	return token, err
}

// value walks the value at path, which consists of its keys from the top level.
func (w *walk) value(path string) error {
	token, err := w.token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	for w.decoder.More() {
		key, before := "[]", len(w.found)
		if open == '{' {
			token, err := w.token()
			if err != nil {
				return err
			}
			key = token.(string)
		}
		if err := w.value(path + "/" + key); err != nil {
			return err
		}
		if w.strip && path+"/"+key == "/metadata/managedFields" {
			w.found = w.found[:before]
		}
	}
	_, err = w.token()
	return err
}
