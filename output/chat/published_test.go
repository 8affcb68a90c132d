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

// published checks messages against the documented schema of each chat service: no unknown fields, the right types, all required
// fields and no value that is too long. The checks are written by hand, so that the tests need no copy of the schemas.
var published = map[string]func(body []byte) error{
	// docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, docs.slack.dev/reference/methods/chat.postMessage: text is cut
	// above 40,000 characters.
	"slack": func(body []byte) error {
		var m struct {
			Text *string `json:"text"`
		}
		return checkMessage(body, &m, func(is func(bool, string)) {
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
		return checkMessage(body, &m, func(is func(bool, string)) {
			is(m.Content != nil && *m.Content != "", "no content")
			is(m.Content != nil && utf8.RuneCountInString(*m.Content) <= 2000, "too long")
			is(m.AllowedMentions != nil && m.AllowedMentions.Parse != nil && len(m.AllowedMentions.Parse) == 0, "mentions are not disabled")
		})
	},
	// learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors (a message of a workflow has at most 28 KB). For the Adaptive
	// Card in it, see adaptivecards.io/explorer. Teams supports version 1.5, and RichTextBlock needs 1.2.
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
		return checkMessage(body, &m, func(is func(bool, string)) {
			is(len(body) <= 28<<10, "too long")
			if is(m.Type == "message" && len(m.Attachments) == 1, "not a message with one attachment"); len(m.Attachments) != 1 {
				return
			}
			of := m.Attachments[0]
			is(of.ContentType == "application/vnd.microsoft.card.adaptive", "unexpected content type "+of.ContentType)
			card := of.Content
			is(card.Schema == "http://adaptivecards.io/schemas/adaptive-card.json" && card.Type == "AdaptiveCard", "not an Adaptive Card")
			is(slices.Contains([]string{"1.2", "1.3", "1.4", "1.5"}, card.Version), "unsupported version "+card.Version)
			is(len(card.Body) > 0, "empty card")
			for _, block := range card.Body {
				is(block.Type == "RichTextBlock" && len(block.Inlines) > 0, "an element that is not text")
				for _, run := range block.Inlines {
					is(run.Type == "TextRun" && run.Text != nil, "a run without text")
					is(slices.Contains([]string{"", "Default", "Monospace"}, run.FontType), "unknown font "+run.FontType)
					is(slices.Contains([]string{"", "Lighter", "Default", "Bolder"}, run.Weight), "unknown weight "+run.Weight)
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
		return checkMessage(body, &m, func(is func(bool, string)) {
			is(m.Text != nil && *m.Text != "", "no text")
			is(m.Time != nil && *m.Time > 1e11, "no time")
			is(m.TimeEnd == nil || m.Time != nil && *m.TimeEnd >= *m.Time, "ends before it begins")
			for _, tag := range m.Tags {
				is(tag != "" && utf8.RuneCountInString(tag) <= 100, "invalid tag "+tag)
			}
		})
	},
}

// checkMessage decodes a message strictly, and returns the first failed check.
func checkMessage(body []byte, to any, checks func(is func(bool, string))) (err error) {
	if !utf8.Valid(body) {
		return fmt.Errorf("invalid UTF-8")
	}
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(to); err != nil {
		return err
	}
	checks(func(holds bool, why string) {
		if !holds && err == nil {
			err = fmt.Errorf("%s", why)
		}
	})
	return err
}

// TestPublished checks that the messages satisfy the documented schemas, whatever has changed.
func TestPublished(t *testing.T) {
	for _, form := range Formats() {
		validate := published[form]
		if validate == nil {
			if form != "text" {
				t.Errorf("no schema for the format %s", form)
			}
			continue
		}
		for _, to := range []string{"2", "", "\x1b\u202e\x00\xff", "<!channel> @everyone ```", "\n\n\n", strings.Repeat("äöü ", 20_000), strings.Repeat("デプロイ", 20_000), strings.Repeat("🚀🚀🚀\n", 20_000), strings.Repeat("\u2028", 20_000), strings.Repeat("\\\"\n", 20_000), strings.Repeat("\n", 50_000)} {
			for _, cluster := range []string{"", "prod", strings.Repeat("ü", 300)} {
				body := encoded(t, Options{Format: form, Cluster: cluster, View: changes.Options{NoTruncate: true}}, modified("1", to))
				if err := validate([]byte(body)); err != nil {
					t.Errorf("%s, value %.30q in cluster %.10q: %v: %.300s", form, to, cluster, err, body)
				}
			}
		}
	}
}
