package chat

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// The maximum lengths of the lines in a message. They leave room for the rest of the message.
const (
	slackRoom   = 3000  // docs.slack.dev: text should have fewer than 4,000 characters
	discordRoom = 1750  // docs.discord.com: content has at most 2,000 characters; the name of the cluster takes up to 200
	teamsRoom   = 24000 // learn.microsoft.com: a message to a webhook has at most 28 KB
	grafanaRoom = 10000
)

// measure measures text: each character, and an overhead per line.
type measure struct {
	character func(rune) int
	perLine   int
}

var (
	characters = measure{character: func(rune) int { return 1 }}
	// teamsBytes measures bytes of JSON. Each line is a block of its own.
	teamsBytes = measure{jsonSize, 120}
)

// jsonSize returns the number of bytes that a character takes in JSON.
func jsonSize(c rune) int {
	switch {
	case c == '"', c == '\\', c == '\n':
		return 2
	case c < ' ', c == '\u2028', c == '\u2029', c == utf8.RuneError:
		return len(`\u0000`)
	}
	return utf8.RuneLen(c)
}

// cut returns the lines of a text that fit into room, or the start of the first line.
func cut(text string, room int, m measure) string {
	fitting := 0 // bytes of the lines that fit
	for line := range strings.Lines(text) {
		room -= m.perLine
		for at, c := range line {
			if room -= m.character(c); room >= 0 {
				continue
			}
			if fitting == 0 {
				return line[:at] + "…\n"
			}
			return text[:fitting] + "…\n"
		}
		fitting += len(line)
	}
	return text
}

// fenced returns a text as a code block. The text cannot end the block.
func fenced(text string) string { return "```\n" + strings.ReplaceAll(text, "```", "'''") + "```" }

// slackEscape escapes text as docs.slack.dev/messaging/formatting-message-text demands. Otherwise a name could mention all members
// of a channel.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// title returns a line with the cluster, or "" if that is unknown.
func (m *message) title() string {
	if m.cluster == "" {
		return ""
	}
	return m.shortCluster() + "\n"
}

// shortCluster returns the name of the cluster, shortened to 100 characters.
func (m *message) shortCluster() string {
	const most = 100
	if runes := []rune(m.cluster); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return m.cluster
}

func slack(m *message) any {
	return struct {
		Text string `json:"text"`
	}{slackEscape.Replace(m.title() + fenced(cut(m.text, slackRoom, characters)))}
}

// discordEscape matches the characters that have a meaning in Discord's Markdown.
var discordEscape = regexp.MustCompile("[][\\\\*_~`|<>#()-]")

// discord returns a message as docs.discord.com/developers/resources/webhook describes it. It allows no mentions.
func discord(m *message) any {
	type mentions struct {
		Parse []string `json:"parse"`
	}
	return struct {
		Content  string   `json:"content"`
		Mentions mentions `json:"allowed_mentions"`
	}{discordEscape.ReplaceAllString(m.title(), `\$0`) + fenced(cut(m.text, discordRoom, characters)), mentions{[]string{}}}
}

// teams returns a message with an Adaptive Card for workflows of Teams. Each line is a TextRun, because Teams interprets Markdown
// in a TextBlock.
func teams(m *message) any {
	type run struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		FontType string `json:"fontType,omitempty"`
		Weight   string `json:"weight,omitempty"`
	}
	type block struct {
		Type    string `json:"type"`
		Inlines []run  `json:"inlines"`
	}
	type card struct {
		Schema  string  `json:"$schema"`
		Type    string  `json:"type"`
		Version string  `json:"version"`
		Body    []block `json:"body"`
	}
	type attachment struct {
		ContentType string `json:"contentType"`
		Content     card   `json:"content"`
	}
	c := card{Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4"}
	add := func(r run) {
		r.Type = "TextRun"
		c.Body = append(c.Body, block{"RichTextBlock", []run{r}})
	}
	if m.cluster != "" {
		add(run{Text: m.shortCluster(), Weight: "Bolder"})
	}
	for line := range strings.Lines(cut(m.text, teamsRoom, teamsBytes)) {
		add(run{Text: strings.TrimSuffix(line, "\n"), FontType: "Monospace"})
	}
	return struct {
		Type        string       `json:"type"`
		Attachments []attachment `json:"attachments"`
	}{"message", []attachment{{"application/vnd.microsoft.card.adaptive", c}}}
}

// htmlEscape escapes text for HTML.
var htmlEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// grafana returns an annotation for POST /api/annotations.
func grafana(m *message) any {
	tags := []string{"dwatch", m.event.Object.Kind}
	for _, tag := range []string{m.shortCluster(), m.event.Object.Namespace} {
		if tag != "" {
			tags = append(tags, tag)
		}
	}
	from, to := m.event.Time.UnixMilli(), int64(0)
	if settled := m.event.Settled; settled != nil { // a region
		from, to = settled.Group.Since.UnixMilli(), settled.Group.Until.UnixMilli()
	}
	return struct {
		Time    int64    `json:"time"` // in milliseconds
		TimeEnd int64    `json:"timeEnd,omitempty"`
		Tags    []string `json:"tags"`
		Text    string   `json:"text"`
	}{from, to, tags, "<pre>" + htmlEscape.Replace(cut(m.text, grafanaRoom, characters)) + "</pre>"}
}
