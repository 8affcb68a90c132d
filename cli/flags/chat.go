package flags

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/pflag"

	"dwatch/output/chat"
)

// Chat holds the flags for messages to people instead of JSON events.
type Chat struct {
	Form     string // one of chat.Formats, or empty if Template is set
	Template *template.Template
	Cluster  string // the name of the cluster in messages; if empty, its kubeconfig name or address
	given    string
}

func (c *Chat) AddTo(f *pflag.FlagSet) {
	forms := chat.Formats()
	f.StringVar(&c.given, "template", "", "Send changes as messages for people, without noise: in the format of "+strings.Join(forms, ", ")+", or rendered by the Go template in `FILE`")
	describeBriefly(f, "template", "Send chat messages, e.g. slack, or use the template in `FILE`")
	offers(f, "template", forms...)
	f.StringVar(&c.Cluster, "cluster-name", "", "With --template, call the cluster `NAME` instead of its kubeconfig name or address")
	notEmpty(f, "template", "cluster-name")
}

// IsSet reports whether --template is given.
func (c *Chat) IsSet() bool { return c.given != "" }

// Parse sets Form, or reads the file and sets Template.
func (c *Chat) Parse() error {
	if slices.Contains(chat.Formats(), c.given) {
		c.Form = c.given
		return nil
	}
	text, err := os.ReadFile(c.given)
	if err != nil {
		return fmt.Errorf("--template is one of %s, or a file: %w", strings.Join(chat.Formats(), ", "), err)
	}
	if c.Template, err = chat.ParseTemplate(string(text)); err != nil {
		return fmt.Errorf("--template %s: %w", c.given, err)
	}
	return nil
}
