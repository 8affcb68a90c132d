package change

// MarshalJSON encodes the path as [Path.String] does. It omits old for added values, new for removed values, and unknown
// members of the writer.
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
