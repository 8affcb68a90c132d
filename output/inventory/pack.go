package inventory

import (
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/pack"
)

// packed is the compressed content of an object. It implements event.LazyContent.
type packed struct {
	pack.Packed
	// masks and omitManagedFields are the values of Options.
	masks             *change.Masks
	omitManagedFields bool
}

// unpack returns the content as the server sent it.
func (p *packed) unpack() string { return p.Packed.Content() }

// Content implements event.LazyContent. It returns the masked content.
func (p *packed) Content() string {
	content := p.masks.MaskJSON(p.unpack())
	if p.omitManagedFields {
		before, after := event.CutManagedFields(content)
		content = before + after
	}
	return content
}
