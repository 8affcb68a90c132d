package inventory

import (
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/pack"
)

// packed is the content of an object in less memory. It implements event.LazyContent.
type packed struct {
	pack.Packed
	// masks and unmanaged say what is not read; see Options.
	masks     *change.Masks
	unmanaged bool
}

// unpack returns the content as the server sent it.
func (p *packed) unpack() string { return p.Packed.Content() }

// Content implements event.LazyContent: it is what may be read.
func (p *packed) Content() string {
	content := p.masks.MaskJSON(p.unpack())
	if p.unmanaged {
		before, after := event.CutManagedFields(content)
		content = before + after
	}
	return content
}
