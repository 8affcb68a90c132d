package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dwatch/output/changes"
)

// What each chat takes, as it is published: no member that it does not know, each of its type, what it requires, and within its bounds.
// The schemas themselves are none of ours to keep.
var published = map[string]func(body []byte) error{
	// docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, docs.slack.dev/reference/methods/chat.postMessage: text is cut
	// above 40,000 characters.
	"slack": func(body []byte) error {
		var m struct {
			Text *string `json:"text"`
		}
		return checked(body, &m, func(is func(bool, string)) {
			is(m.Text != nil && *m.Text != "", "no text")
			is(m.Text != nil && utf8.RuneCountInString(*m.Text) <= 40_000, "too long")
		})
	},
	// docs.discord.com/developers/resources/webhook#execute-webhook
	"discord": func(body []byte) error {
		var m struct {
			Content         *string `json:"content"`
			AllowedMentions *struct {
				Parse []string `json:"parse"`
			} `json:"allowed_mentions"`
		}
		return checked(body, &m, func(is func(bool, string)) {
			is(m.Content != nil && *m.Content != "", "no content")
			is(m.Content != nil && utf8.RuneCountInString(*m.Content) <= 2000, "too long")
			is(m.AllowedMentions != nil && m.AllowedMentions.Parse != nil && len(m.AllowedMentions.Parse) == 0, "somebody may be mentioned")
		})
	},
	// learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors (a message of a workflow: 28 KB), and the Adaptive Card in it:
	// adaptivecards.io/explorer, of which Teams knows 1.5. A RichTextBlock came with 1.2.
	"teams": func(body []byte) error {
		var m struct {
			Type        string `json:"type"`
			Attachments []struct {
				ContentType string `json:"contentType"`
				Content     struct {
					Schema  string `json:"$schema"`
					Type    string `json:"type"`
					Version string `json:"version"`
					Body    []struct {
						Type    string `json:"type"`
						Inlines []struct {
							Type     string  `json:"type"`
							Text     *string `json:"text"`
							FontType string  `json:"fontType"`
							Weight   string  `json:"weight"`
						} `json:"inlines"`
					} `json:"body"`
				} `json:"content"`
			} `json:"attachments"`
		}
		return checked(body, &m, func(is func(bool, string)) {
			is(len(body) <= 28<<10, "too long")
			if is(m.Type == "message" && len(m.Attachments) == 1, "no message with one attachment"); len(m.Attachments) != 1 {
				return
			}
			of := m.Attachments[0]
			is(of.ContentType == "application/vnd.microsoft.card.adaptive", "of another type: "+of.ContentType)
			card := of.Content
			is(card.Schema == "http://adaptivecards.io/schemas/adaptive-card.json" && card.Type == "AdaptiveCard", "no Adaptive Card")
			is(slices.Contains([]string{"1.2", "1.3", "1.4", "1.5"}, card.Version), "of version "+card.Version)
			is(len(card.Body) > 0, "nothing in it")
			for _, block := range card.Body {
				is(block.Type == "RichTextBlock" && len(block.Inlines) > 0, "an element that is no text")
				for _, run := range block.Inlines {
					is(run.Type == "TextRun" && run.Text != nil, "a run without text")
					is(slices.Contains([]string{"", "Default", "Monospace"}, run.FontType), "a font "+run.FontType)
					is(slices.Contains([]string{"", "Lighter", "Default", "Bolder"}, run.Weight), "a weight "+run.Weight)
				}
			}
		})
	},
	// grafana.com/docs/grafana/latest/developers/http_api/annotations: times are in milliseconds.
	"grafana": func(body []byte) error {
		var m struct {
			Time    *int64   `json:"time"`
			TimeEnd *int64   `json:"timeEnd"`
			Tags    []string `json:"tags"`
			Text    *string  `json:"text"`
		}
		return checked(body, &m, func(is func(bool, string)) {
			is(m.Text != nil && *m.Text != "", "no text")
			is(m.Time != nil && *m.Time > 1e11, "no time")
			is(m.TimeEnd == nil || m.Time != nil && *m.TimeEnd >= *m.Time, "it ends before it begins")
			for _, tag := range m.Tags {
				is(tag != "" && utf8.RuneCountInString(tag) <= 100, "a tag "+tag)
			}
		})
	},
}

// checked reads a message that has no members but those of to, and asks what is to be of it.
func checked(body []byte, to any, ask func(is func(bool, string))) (err error) {
	if !utf8.Valid(body) {
		return fmt.Errorf("no UTF-8")
	}
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(to); err != nil {
		return err
	}
	ask(func(holds bool, why string) {
		if !holds && err == nil {
			err = fmt.Errorf("%s", why)
		}
	})
	return err
}

// TestPublished: what is sent to a chat is what that takes, whatever has changed.
func TestPublished(t *testing.T) {
	for _, form := range Formats() {
		takes := published[form]
		if takes == nil {
			if form != "text" {
				t.Errorf("%s: it is not known what it takes", form)
			}
			continue
		}
		for _, to := range []string{"2", "", "\x1b\u202e\x00\xff", "<!channel> @everyone ```", "\n\n\n", strings.Repeat("äöü ", 20_000), strings.Repeat("デプロイ", 20_000), strings.Repeat("🚀🚀🚀\n", 20_000), strings.Repeat("\u2028", 20_000), strings.Repeat("\\\"\n", 20_000), strings.Repeat("\n", 50_000)} {
			for _, cluster := range []string{"", "prod", strings.Repeat("ü", 300)} {
				body := encoded(t, Options{Format: form, Cluster: cluster, View: changes.Options{NoTruncate: true}}, modified("1", to))
				if err := takes([]byte(body)); err != nil {
					t.Errorf("%s, of %.30q in %.10q: %v: %.300s", form, to, cluster, err, body)
				}
			}
		}
	}
}
