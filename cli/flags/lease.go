package flags

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"dwatch/output"
)

// Lease names the Lease that elects one of several replicas. The zero value means that there is only one replica.
type Lease struct {
	Namespace string // if empty, the namespace of the kubeconfig context
	Name      string
}

func (l *Lease) AddTo(f *pflag.FlagSet) {
	text := ""
	f.StringVar(&text, "lease", "", "Deliver events only while holding the Lease `[NAMESPACE/]NAME`, and stand by otherwise")
	takes(f, "lease", func(text string) error { return invalid("lease", output.EscapeLine(text), l.read(text)) })
	notEmpty(f, "lease")
}

// IsSet reports whether --lease is given.
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
