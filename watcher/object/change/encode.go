package change

import "time"

// MarshalJSON writes a change as programs want it: path as [Path.String] has it, kind,
// old and new where there is one, masked if that is true, and what is known of who
// made it.
func (c Change) MarshalJSON() ([]byte, error) {
	line := struct {
		Path        string `json:"path"`
		Kind        Kind   `json:"kind"`
		Old         *any   `json:"old,omitempty"`
		New         *any   `json:"new,omitempty"`
		Masked      bool   `json:"masked,omitempty"`
		Manager     string `json:"manager,omitempty"`
		Operation   string `json:"operation,omitempty"`
		Subresource string `json:"subresource,omitempty"`
		Time        string `json:"time,omitempty"`
	}{
		Path:        c.Path.String(),
		Kind:        c.Kind,
		Masked:      c.Masked,
		Manager:     c.Who.Manager,
		Operation:   c.Who.Operation,
		Subresource: c.Who.Subresource,
	}
	if c.Kind != Added {
		line.Old = &c.Old
	}
	if c.Kind != Removed {
		line.New = &c.New
	}
	if !c.Who.Time.IsZero() {
		line.Time = c.Who.Time.UTC().Format(time.RFC3339)
	}
	return []byte(encodeText(line)), nil
}
