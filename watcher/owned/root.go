package owned

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Root is an object by its name, in whatever namespace its Events are. To it belongs what
// it owns: what names it as an owner, and what names that, and so on. An owner is in the
// namespace of what it owns, or in none.
type Root struct {
	schema.GroupKind
	Name string
}

// Lookup returns the owners of an object; none if it does not exist, or they may not be
// known. It blocks until it knows, or ctx ends.
type Lookup func(ctx context.Context, o Owner) ([]Owner, error)

// maxDepth is how many owners stand above each other at most: nobody keeps objects from
// owning each other without end.
const maxDepth = 16

func (r Root) is(o Owner) bool { return o.GroupKind == r.GroupKind && o.Name == r.Name }

// Has reports whether an object is the root, or belongs to it.
func (r Root) Has(ctx context.Context, o Owner, owners Lookup) (bool, error) {
	seen := map[Ref]bool{}
	for level, depth := []Owner{o}, 0; len(level) > 0 && depth < maxDepth; depth++ {
		var above []Owner
		for _, one := range level {
			if r.is(one) {
				return true, nil
			}
			if seen[one.Ref] {
				continue
			}
			seen[one.Ref] = true
			more, err := owners(ctx, one)
			if err != nil {
				return false, err
			}
			above = append(above, more...)
		}
		level = above
	}
	return false, nil
}
