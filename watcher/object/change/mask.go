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

// Masks say which values are not to be shown. In the place of one stands its size and a keyed
// hash of it, as in <12 bytes, 3f9a1c>, so that a change is seen; of a number or a boolean
// <number, ...> or <boolean, ...>. A null and names of fields are shown. A value is hidden in
// kubectl's last-applied-configuration, too, in managedFields, and where it is a key in a path.
//
// The zero Masks hide nothing.
type Masks struct {
	// Paths are what is hidden, with all below.
	Paths Patterns
	// Secrets hides the values in data and stringData of Secrets (v1), with size and hash of
	// what is decoded. In their annotations, each JSON object is taken for a copy.
	Secrets bool
	// Key of the hash (HMAC-SHA256, of which 24 bits are shown), for a whole run. Without one
	// there is no hash.
	Key []byte
}

// Object returns the object with its values hidden. It is not changed; where nothing may be
// hidden it is what is returned.
func (m *Masks) MaskObject(object map[string]any) map[string]any {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if !m.AppliesTo(apiVersion, kind) {
		return object
	}
	var hidden map[string]any
	if err := utiljson.Unmarshal([]byte(m.MaskJSON(encodeText(object))), &hidden); err != nil {
		panic(err) // it was JSON
	}
	return hidden
}

// ObjectJSON is Object for valid JSON. Where something may be hidden the members of the
// result are sorted by name.
func (m *Masks) MaskJSON(object string) string { return m.rules(object, object).object(object) }

func (ms masks) object(object string) string {
	if len(ms) == 0 {
		return object
	}
	decoded, _ := decodeText(gjson.Parse(object)).(map[string]any)
	h := hider{masks: ms, fields: &fields{new: managedFieldsOf(object).Raw}}
	return encodeText(h.value(ms.hideManaged(decoded)))
}

// Concern reports whether there may be something to hide in objects of a type.
func (m *Masks) AppliesTo(apiVersion, kind string) bool {
	return m != nil && (len(m.Paths) > 0 || m.Secrets && apiVersion == "v1" && kind == "Secret")
}

// mask is one rule of what is hidden, and how.
type mask struct {
	Pattern
	cover cover
	key   []byte
}

type masks []mask

// cover says what stands at the path of a mask.
type cover int

const (
	plain   cover = iota
	encoded       // base64
	copied        // an object as JSON, or else nothing that may be shown
	maybe         // an object as JSON, or else nothing to hide
)

// rules returns the masks for an object in two states.
func (m *Masks) rules(old, new string) masks {
	if m == nil {
		return nil
	}
	rules := m.with(nil, plain, m.Paths)
	secret := m.Secrets && (isSecret(old) || isSecret(new))
	if secret {
		rules = m.with(rules, encoded, mustParse("data"))
		rules = m.with(rules, plain, mustParse("stringData"))
	}
	if len(rules) > 0 {
		rules = m.with(rules, copied, mustParse("metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]"))
	}
	if secret {
		rules = m.with(rules, maybe, mustParse("metadata.annotations.*"))
	}
	return rules
}

func (m *Masks) with(rules masks, cover cover, patterns Patterns) masks {
	for _, p := range patterns {
		rules = append(rules, mask{p, cover, m.Key})
	}
	return rules
}

func isSecret(object string) bool {
	return gjson.Get(object, "kind").Str == "Secret" && gjson.Get(object, "apiVersion").Str == "v1"
}

// at returns the first mask that matches the path, nil if there is none, and whether
// one could match below it.
func (ms masks) at(path Path) (found *mask, below bool) {
	for i := range ms {
		depth, b := follow(ms[i].steps, path)
		if depth > 0 {
			return &ms[i], false
		}
		below = below || b
	}
	return nil, below
}

// placeholder returns what stands in the place of a scalar.
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
		if m.cover == encoded {
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
