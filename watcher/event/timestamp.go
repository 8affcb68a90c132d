package event

import "time"

const timestampLayout = "2006-01-02T15:04:05.000Z07:00"

// Timestamp is a time in the format of all JSON that dwatch writes: RFC 3339 in UTC, with
// milliseconds.
type Timestamp struct{ time.Time }

func (t Timestamp) String() string { return t.UTC().Format(timestampLayout) }

// MarshalJSON implements json.Marshaler.
func (t Timestamp) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }
