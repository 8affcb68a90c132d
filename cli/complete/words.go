package complete

import (
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"dwatch/output"
)

// choice is a word to complete to, and what it is; empty if it is not plain.
func choice(word, description string) cobra.Completion {
	if !isPlain(word) {
		return ""
	}
	return cobra.CompletionWithDesc(word, output.EscapeLine(description))
}

// choose returns the choices that begin with what is typed, each once, and
// without those that are taken already. The choices are plain. Each comes after
// head, which is what stands before it in the same word.
func choose(head, typed string, taken []string, choices []cobra.Completion) []cobra.Completion {
	var chosen []cobra.Completion
	seen := make(map[string]bool, len(choices))
	for _, t := range taken {
		seen[t] = true
	}
	for _, c := range choices {
		word, _, _ := strings.Cut(c, "\t")
		if !seen[word] && strings.HasPrefix(word, typed) && word != "" {
			chosen = append(chosen, head+c)
		}
		seen[word] = true
	}
	return chosen
}

// chooseItem is choose for the last item of a list, whose items are each given once.
func chooseItem(list string, taken []string, choices []cobra.Completion) []cobra.Completion {
	head, typed := lastItem(list)
	return choose(head, typed, slices.Concat(taken, strings.Split(head, ",")), choices)
}

// lastItem cuts a list after its last comma.
func lastItem(list string) (head, item string) {
	i := strings.LastIndex(list, ",") + 1
	return list[:i], list[i:]
}

// isPlain reports whether a shell takes word as it stands. Anything else is not offered: a space
// or a control character would break the protocol, and a name such as $(reboot), which RBAC
// objects may have, must not get into a command line by a press of TAB.
func isPlain(word string) bool {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._:/@+=", r)
	}
	return word != "" && !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "=") && strings.IndexFunc(word, odd) < 0
}

// reply is what a completion function returns. No space follows a word
// after which more has to come.
func reply(choices []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	isComplete := func(c cobra.Completion) bool {
		word, _, _ := strings.Cut(c, "\t")
		return !strings.ContainsAny(word[max(len(word)-1, 0):], "/=(., ")
	}
	if len(choices) > 0 && !slices.ContainsFunc(choices, isComplete) {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return choices, directive
}
