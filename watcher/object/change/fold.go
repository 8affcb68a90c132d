package change

// FoldConditions merges the changes of a condition's status, reason and message into one change of the condition, if its
// status and no other field changed. changes must be sorted as in Result.
func FoldConditions(changes []Change) (folded []Change) {
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && sameCondition(changes[0].Path, changes[n].Path) {
			n++
		}
		if flip, ok := flipped(changes[:n]); ok {
			folded = append(folded, flip)
		} else {
			folded = append(folded, changes[:n]...)
		}
		changes = changes[n:]
	}
	return folded
}

// sameCondition reports whether two paths lead to members of one condition.
func sameCondition(a, b Path) bool {
	last := len(a) - 1
	return len(a) == len(b) && last > 0 && isCondition(a[:last]) && isCondition(b[:last]) &&
		a[:last].String() == b[:last].String()
}

func isCondition(path Path) bool {
	last := len(path) - 1
	return last > 0 && path[last].Item != nil && ListKey(path[:last]) == "type"
}

// flipped merges the changes of one condition. ok is false if the status did not change, or if a field other than status,
// reason and message did.
func flipped(members []Change) (flip Change, ok bool) {
	why := map[string]any{}
	for _, c := range members {
		last := len(c.Path) - 1
		if last < 1 || !isCondition(c.Path[:last]) {
			return flip, false
		}
		old, wasText := c.Old.(string)
		now, isText := c.New.(string)
		switch name := c.Path[last].Field; {
		case name == "status" && c.Kind == Changed && wasText && isText:
			flip = c
			flip.Path, flip.Old, flip.New = c.Path[:last], old, now
			ok = true
		case (name == "reason" || name == "message") && (isText || c.Kind == Removed):
			why[name] = now
		default:
			return flip, false
		}
	}
	if ok {
		flip.New = join(flip.New.(string), explain(why))
	}
	return flip, ok
}
