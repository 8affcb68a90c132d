package flags

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"dwatch/output"
)

// Lease is the object that decides which of several replicas works; zero: there is one.
type Lease struct {
	Namespace string // empty: that of the connection
	Name      string
}

func (l *Lease) AddTo(f *pflag.FlagSet) {
	text := ""
	f.StringVar(&text, "lease", "", "Run only while holding the Lease `[NAMESPACE/]NAME`, and stand by otherwise")
	takes(f, "lease", func(text string) error { return invalid("lease", output.EscapeLine(text), l.read(text)) })
	notEmpty(f, "lease")
}

// Is reports whether there may be several.
func (l *Lease) IsSet() bool { return l.Name != "" }

func (l *Lease) read(text string) error {
	namespace, name, both := strings.Cut(text, "/")
	if !both {
		namespace, name = "", text
	}
	wrong := validation.IsDNS1123Subdomain(name)
	if both {
		wrong = append(validation.IsDNS1123Label(namespace), wrong...)
	}
	if len(wrong) > 0 {
		return errors.New("it takes the name of a Lease, or NAMESPACE/NAME: " + wrong[0])
	}
	l.Namespace, l.Name = namespace, name
	return nil
}
