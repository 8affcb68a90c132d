package complete

import (
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"dwatch/output"
)

// choice returns a completion with a description, or "" if the word is not plain.
func choice(word, description string) cobra.Completion {
	if !isPlain(word) {
		return ""
	}
	return cobra.CompletionWithDesc(word, output.EscapeLine(description))
}

// choose returns the choices that start with typed, without duplicates and without the words in
// taken. Each result starts with head, the text before typed in the same word.
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

// chooseItem is choose for the last item of a comma-separated list. It does not repeat items of the list.
func chooseItem(list string, taken []string, choices []cobra.Completion) []cobra.Completion {
	head, typed := lastItem(list)
	return choose(head, typed, slices.Concat(taken, strings.Split(head, ",")), choices)
}

// lastItem splits a list after its last comma.
func lastItem(list string) (head, item string) {
	i := strings.LastIndex(list, ",") + 1
	return list[:i], list[i:]
}

// isPlain reports whether word needs no quotes in a shell. Other words are not offered. Spaces and
// control characters would break the protocol. RBAC objects can have names such as $(reboot), which
// TAB must not insert into a command line.
func isPlain(word string) bool {
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._:/@+=", r)
	}
	return word != "" && !strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "=") && !strings.ContainsFunc(word, special)
}

// reply returns the results of a completion function. If no choice is complete, the shell does not
// append a space.
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
