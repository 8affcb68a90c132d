// Package pack compresses the contents of objects that are kept in memory.
package pack

import (
	"bytes"

	"github.com/klauspost/compress/s2"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Packer compresses contents. The first object of a resource becomes the dictionary for later ones, because objects of a
// resource resemble each other. The zero value is ready to use. A Packer is not safe for concurrent use, but its results
// are.
type Packer struct {
	dictionaries  map[schema.GroupResource]*s2.Dict
	plain, packed []byte // buffers
}

// Packed is compressed content. It is immutable.
type Packed struct {
	text       []byte
	dictionary *s2.Dict // nil if text was compressed without one
}

// Pack compresses the content of an object of resource r.
func (p *Packer) Pack(r schema.GroupResource, content string) Packed {
	p.plain = append(p.plain[:0], content...)
	dictionary, known := p.dictionaries[r]
	if !known {
		if p.dictionaries == nil {
			p.dictionaries = map[schema.GroupResource]*s2.Dict{}
		}
		dictionary = s2.MakeDict(bytes.Clone(p.plain), nil) // nil if the content is too short
		p.dictionaries[r] = dictionary
	}
	if dictionary == nil {
		p.packed = s2.Encode(p.packed[:cap(p.packed)], p.plain)
	} else {
		p.packed = dictionary.Encode(p.packed[:0], p.plain)
	}
	return Packed{bytes.Clone(p.packed), dictionary}
}

// Size returns the compressed size in bytes.
func (p Packed) Size() int { return len(p.text) }

// Content decompresses the content. It implements event.LazyContent.
func (p Packed) Content() string {
	var content []byte
	var err error
	if p.dictionary == nil {
		content, err = s2.Decode(nil, p.text)
	} else {
		content, err = p.dictionary.Decode(nil, p.text)
	}
	if err != nil {
		panic(err) // Pack wrote it
	}
	return string(content)
}
