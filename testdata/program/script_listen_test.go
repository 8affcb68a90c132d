package program

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// listening matches the message about --listen.
var listening = regexp.MustCompile(`(?m)^listening on (http://\S+)/metrics$`)

// get requests a path from a program until the status code and the body match, and prints the body.
func get(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: get NAME PATH CODE REGEXP")
	}
	p := of(ts).programs[args[0]]
	pattern, err := regexp.Compile("(?m)" + args[3])
	ts.Check(err)
	if !p.stderr.await(listening, 1, p.ended) {
		ts.Fatalf("the program does not log its address:\n%s", p.stderr.String())
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

// paged matches the message with the URL of the page.
var paged = regexp.MustCompile(`(?m)^page: (\S+)$`)

// address sets an environment variable to the URL of a program's page.
func address(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: address NAME VARIABLE")
	}
	p := of(ts).programs[args[0]]
	if !p.stderr.await(paged, 1, p.ended) {
		ts.Fatalf("the program does not log the URL of its page:\n%s", p.stderr.String())
	}
	ts.Setenv(args[1], paged.FindStringSubmatch(p.stderr.String())[1])
}
