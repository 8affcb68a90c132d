package program

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// listening is what a program says that listens.
var listening = regexp.MustCompile(`(?m)^listening on (http://\S+)/metrics$`)

// get asks a program over HTTP until it answers with a code and a body that matches, which
// it prints.
func get(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: get NAME PATH CODE REGEXP")
	}
	p := of(ts).programs[args[0]]
	pattern, err := regexp.Compile("(?m)" + args[3])
	ts.Check(err)
	if !p.stderr.await(listening, 1, p.ended) {
		ts.Fatalf("it does not say where it listens:\n%s", p.stderr.String())
	}
	url := listening.FindStringSubmatch(p.stderr.String())[1] + args[1]
	deadline := time.Now().Add(patience)
	for last := ""; ; time.Sleep(20 * time.Millisecond) {
		response, err := http.Get(url)
		if err == nil {
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err == nil && fmt.Sprint(response.StatusCode) == args[2] && pattern.Match(body) {
				fmt.Fprint(ts.Stdout(), string(body))
				return
			}
			last = fmt.Sprintf("%s: %s", response.Status, body)
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: %v, %s\nstderr:\n%s", url, err, last, p.stderr.String())
		}
	}
}

// paged is what a program says that serves a page.
var paged = regexp.MustCompile(`(?m)^page: (\S+)$`)

// address sets a variable of the environment to where the page of a program is.
func address(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: address NAME VARIABLE")
	}
	p := of(ts).programs[args[0]]
	if !p.stderr.await(paged, 1, p.ended) {
		ts.Fatalf("it does not say where its page is:\n%s", p.stderr.String())
	}
	ts.Setenv(args[1], paged.FindStringSubmatch(p.stderr.String())[1])
}
