package chat

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// How long a message may be: of what a chat takes there is room left for the rest.
const (
	slackRoom   = 3000  // docs.slack.dev: text is best below 4,000 characters
	discordRoom = 1750  // docs.discord.com: content is 2,000 characters at most, 200 of which the name of the cluster may take
	teamsRoom   = 24000 // learn.microsoft.com: a message of a webhook has 28 KB at most, in bytes
	grafanaRoom = 10000
)

// measure is what a character takes of the room, and each line beside its characters.
type measure struct {
	of     func(rune) int
	beside int
}

var (
	characters = measure{of: func(rune) int { return 1 }}
	// teamsBytes are those of a line in the JSON of its block.
	teamsBytes = measure{inJSON, 120}
)

// inJSON is how many bytes a character takes in JSON.
func inJSON(c rune) int {
	switch {
	case c == '"', c == '\\', c == '\n':
		return 2
	case c < ' ', c == '\u2028', c == '\u2029', c == utf8.RuneError:
		return len(`\u0000`)
	}
	return utf8.RuneLen(c)
}

// cut returns the lines of a text that there is room for, of the first as much as there is.
func cut(text string, room int, takes measure) string {
	whole := 0 // bytes of the lines that fit
	for line := range strings.Lines(text) {
		room -= takes.beside
		for at, c := range line {
			if room -= takes.of(c); room >= 0 {
				continue
			}
			if whole == 0 {
				return line[:at] + "…\n"
			}
			return text[:whole] + "…\n"
		}
		whole += len(line)
	}
	return text
}

// fenced puts a text between the marks of a block of code, which it can't end.
func fenced(text string) string { return "```\n" + strings.ReplaceAll(text, "```", "'''") + "```" }

// slackEscape is what docs.slack.dev/messaging/formatting-message-text has escaped: without it a name
// could mention everybody.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// title is the cluster, where that is known, on a line.
func (s *said) title() string {
	if s.cluster == "" {
		return ""
	}
	return s.place() + "\n"
}

// place is the cluster, of which some names are long.
func (s *said) place() string {
	const most = 100
	if runes := []rune(s.cluster); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s.cluster
}

func slack(s *said) any {
	return struct {
		Text string `json:"text"`
	}{slackEscape.Replace(s.title() + fenced(cut(s.text, slackRoom, characters)))}
}

// discordEscape escapes what Discord takes for Markdown, such as a link.
var discordEscape = regexp.MustCompile("[][\\\\*_~`|<>#()-]")

// discord is a message of docs.discord.com/developers/resources/webhook, in which nobody is mentioned.
func discord(s *said) any {
	type mentions struct {
		Parse []string `json:"parse"`
	}
	return struct {
		Content  string   `json:"content"`
		Mentions mentions `json:"allowed_mentions"`
	}{discordEscape.ReplaceAllString(s.title(), `\$0`) + fenced(cut(s.text, discordRoom, characters)), mentions{[]string{}}}
}

// teams is a message with an Adaptive Card, as workflows of Teams take it. Each line is a run of text:
// in a TextBlock some of it would be Markdown.
func teams(s *said) any {
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
	if s.cluster != "" {
		add(run{Text: s.place(), Weight: "Bolder"})
	}
	for line := range strings.Lines(cut(s.text, teamsRoom, teamsBytes)) {
		add(run{Text: strings.TrimSuffix(line, "\n"), FontType: "Monospace"})
	}
	return struct {
		Type        string       `json:"type"`
		Attachments []attachment `json:"attachments"`
	}{"message", []attachment{{"application/vnd.microsoft.card.adaptive", c}}}
}

// htmlEscape is for what shows HTML.
var htmlEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// grafana is an annotation, as POST /api/annotations takes it.
func grafana(s *said) any {
	tags := []string{"dwatch", s.event.Object.Kind}
	for _, tag := range []string{s.place(), s.event.Object.Namespace} {
		if tag != "" {
			tags = append(tags, tag)
		}
	}
	from, to := s.event.Time.UnixMilli(), int64(0)
	if settled := s.event.Settled; settled != nil { // it is a region
		from, to = settled.Group.Since.UnixMilli(), settled.Group.Until.UnixMilli()
	}
	return struct {
		Time    int64    `json:"time"` // in milliseconds
		TimeEnd int64    `json:"timeEnd,omitempty"`
		Tags    []string `json:"tags"`
		Text    string   `json:"text"`
	}{from, to, tags, "<pre>" + htmlEscape.Replace(cut(s.text, grafanaRoom, characters)) + "</pre>"}
}
