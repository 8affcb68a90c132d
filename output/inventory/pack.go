package inventory

import (
	"bytes"

	"github.com/klauspost/compress/s2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// packer compresses content. The first object of a resource is a dictionary for all of them.
type packer struct {
	dictionaries  map[schema.GroupResource]*s2.Dict
	plain, packed []byte // used again
}

// packed is the content of an object in less memory. It implements event.Kept.
type packed struct {
	text       []byte
	dictionary *s2.Dict // nil: none
	// masks and unmanaged say what is not read; see Options.
	masks     *change.Masks
	unmanaged bool
}

func (p *packer) pack(r schema.GroupResource, content string) ([]byte, *s2.Dict) {
	p.plain = append(p.plain[:0], content...)
	dictionary, known := p.dictionaries[r]
	if !known {
		if p.dictionaries == nil {
			p.dictionaries = map[schema.GroupResource]*s2.Dict{}
		}
		dictionary = s2.MakeDict(bytes.Clone(p.plain), nil) // nil where that is too short
		p.dictionaries[r] = dictionary
	}
	if dictionary == nil {
		p.packed = s2.Encode(p.packed[:cap(p.packed)], p.plain)
	} else {
		p.packed = dictionary.Encode(p.packed[:0], p.plain)
	}
	return bytes.Clone(p.packed), dictionary
}

// unpack returns the content as the server sent it.
func (p *packed) unpack() string {
	var content []byte
	var err error
	if p.dictionary == nil {
		content, err = s2.Decode(nil, p.text)
	} else {
		content, err = p.dictionary.Decode(nil, p.text)
	}
	if err != nil {
		panic(err) // it was packed here
	}
	return string(content)
}

// Content implements event.Kept: it is what may be read.
func (p *packed) Content() string {
	content := p.masks.ObjectJSON(p.unpack())
	if p.unmanaged {
		before, after := event.CutManagedFields(content)
		content = before + after
	}
	return content
}
