package change

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Masks replace values by placeholders, which contain the size of the value and a keyed hash: <12 bytes, 3f9a1c>. So
// readers see whether a value changed. Numbers and booleans become <number, ...> and <boolean, ...>. Nulls and the names
// of fields stay readable. Values are also masked in kubectl's last-applied-configuration, in managedFields, and in list
// keys of paths.
//
// The zero Masks hide nothing.
type Masks struct {
	// Paths are the values to hide, with everything below them.
	Paths Patterns
	// Secrets hides the values in data and stringData of Secrets (v1). Placeholders of data describe the decoded value. Each
	// JSON object in an annotation of a Secret is treated as a copy of it.
	Secrets bool
	// Key is the key of the hashes (HMAC-SHA256, the first 24 bits are shown). Only hashes with the same key can be
	// compared. If Key is empty, placeholders contain no hash.
	Key []byte
}

// MaskObject returns the object with masked values. It does not modify the object, and returns it as it is if no mask
// applies to its type.
func (m *Masks) MaskObject(object map[string]any) map[string]any {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if !m.AppliesTo(apiVersion, kind) {
		return object
	}
	var hidden map[string]any
	if err := utiljson.Unmarshal([]byte(m.MaskJSON(encodeText(object))), &hidden); err != nil {
		panic(err) // MaskJSON returns valid JSON
	}
	return hidden
}

// MaskJSON is MaskObject for valid JSON. If a mask applies to the type, the result has its fields sorted by name.
func (m *Masks) MaskJSON(object string) string { return m.rules(object, object).maskObject(object) }

func (ms masks) maskObject(object string) string {
	if len(ms) == 0 {
		return object
	}
	decoded, _ := decodeText(gjson.Parse(object)).(map[string]any)
	h := hider{masks: ms, fields: &fields{new: managedFieldsOf(object).Raw}}
	return encodeText(h.value(ms.hideManaged(decoded)))
}

// AppliesTo reports whether values in objects of a type may be masked.
func (m *Masks) AppliesTo(apiVersion, kind string) bool {
	return m != nil && (len(m.Paths) > 0 || m.Secrets && apiVersion == "v1" && kind == "Secret")
}

// mask is one rule: a pattern and the kind of the values that it hides.
type mask struct {
	Pattern
	content contentKind
	key     []byte
}

type masks []mask

// contentKind is the kind of value at the path of a mask.
type contentKind int

const (
	plainText      contentKind = iota
	base64Text                 // base64
	embeddedObject             // an object as JSON; other text is masked as a whole
	maybeObject                // an object as JSON; other text is not masked
)

// rules returns the masks for two states of an object.
func (m *Masks) rules(old, new string) masks {
	if m == nil {
		return nil
	}
	rules := m.appendRules(nil, plainText, m.Paths)
	secret := m.Secrets && (isSecret(old) || isSecret(new))
	if secret {
		rules = m.appendRules(rules, base64Text, mustParse("data"))
		rules = m.appendRules(rules, plainText, mustParse("stringData"))
	}
	if len(rules) > 0 {
		rules = m.appendRules(rules, embeddedObject, mustParse("metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]"))
	}
	if secret {
		rules = m.appendRules(rules, maybeObject, mustParse("metadata.annotations.*"))
	}
	return rules
}

func (m *Masks) appendRules(rules masks, cover contentKind, patterns Patterns) masks {
	for _, p := range patterns {
		rules = append(rules, mask{p, cover, m.Key})
	}
	return rules
}

func isSecret(object string) bool {
	return gjson.Get(object, "kind").Str == "Secret" && gjson.Get(object, "apiVersion").Str == "v1"
}

// find returns the first mask that matches the path, or nil, and whether a mask could match below the path.
func (ms masks) find(path Path) (found *mask, below bool) {
	for i := range ms {
		depth, b := follow(ms[i].steps, path)
		if depth > 0 {
			return &ms[i], false
		}
		below = below || b
	}
	return nil, below
}

// placeholder returns the replacement for a scalar.
func (m *mask) placeholder(v any) any {
	size, content := "", []byte(scalarText(v))
	switch v.(type) {
	case nil:
		return nil
	case bool:
		size = "boolean"
	case json.Number:
		size = "number"
	default:
		if m.content == base64Text {
			if decoded, err := base64.StdEncoding.DecodeString(string(content)); err == nil {
				content = decoded
			}
		}
		size = fmt.Sprintf("%d bytes", len(content))
	}
	if len(m.key) == 0 {
		return "<" + size + ">"
	}
	hash := hmac.New(sha256.New, m.key)
	hash.Write(content)
	return fmt.Sprintf("<%s, %x>", size, hash.Sum(nil)[:3])
}
