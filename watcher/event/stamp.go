package event

import "time"

const stampLayout = "2006-01-02T15:04:05.000Z07:00"

// Stamp is a time as all JSON of dwatch has it: RFC 3339, in UTC, to the millisecond.
type Stamp struct{ time.Time }

func (s Stamp) String() string { return s.UTC().Format(stampLayout) }

// MarshalJSON implements json.Marshaler.
func (s Stamp) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }
