package change

// MarshalJSON writes the path as [Path.String] has it, old and new where there is one, and
// what is known of who made the change.
func (c Change) MarshalJSON() ([]byte, error) {
	line := struct {
		Path   string `json:"path"`
		Kind   Kind   `json:"kind"`
		Old    *any   `json:"old,omitempty"`
		New    *any   `json:"new,omitempty"`
		Masked bool   `json:"masked,omitempty"`
		Writer
	}{Path: c.Path.String(), Kind: c.Kind, Masked: c.Masked, Writer: c.Writer}
	if c.Kind != Added {
		line.Old = &c.Old
	}
	if c.Kind != Removed {
		line.New = &c.New
	}
	return []byte(encodeText(line)), nil
}
