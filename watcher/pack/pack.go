// Package pack keeps the content of objects in less memory, for who holds many of them.
package pack

import (
	"bytes"

	"github.com/klauspost/compress/s2"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Packer compresses content. The first object of a resource is a dictionary for all of them. The
// zero value works. It is used from one goroutine; what it has packed may be read from any.
type Packer struct {
	dictionaries  map[schema.GroupResource]*s2.Dict
	plain, packed []byte // used again
}

// Packed is content that a Packer has packed. It never changes.
type Packed struct {
	text       []byte
	dictionary *s2.Dict // nil: none
}

// Pack packs the content of an object of resource r.
func (p *Packer) Pack(r schema.GroupResource, content string) Packed {
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
	return Packed{bytes.Clone(p.packed), dictionary}
}

// Size is how many bytes it takes.
func (p Packed) Size() int { return len(p.text) }

// Content returns what was packed, decompressed at each call. It implements event.LazyContent.
func (p Packed) Content() string {
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
