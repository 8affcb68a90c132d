package main

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
)

func TestWrongUsageExitsWith2AndOneLine(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	for _, args := range [][]string{
		{},
		{"bogus"},
		{"--nope"},
		{"--kubeconfig", "k", "--port", "70000"},
		{"--kubeconfig", "k", "--light-pods", "-1"},
		{"--kubeconfig", "k", "--apiserver-arg", "bind-address=0.0.0.0"},
		{"--kubeconfig", "k", "--apiserver-arg", "no-such-flag=1"},
		{"apply"},
		{"pods"},
		{"pods", "0"},
		{"pods", "5", "--namespace", "a", "--namespaces", "2"},
		{"churn", "5", "--rate", "-1"},
		{"churn", "5"},
	} {
		var stdout, stderr bytes.Buffer
		code := report(run(context.Background(), args, &stdout), &stderr)
		if code != 2 || stdout.Len() > 0 || bytes.Count(stderr.Bytes(), []byte("\n")) != 1 {
			t.Errorf("%q: code %d, stdout %q, stderr %q", args, code, &stdout, &stderr)
		}
	}
}

func TestDecodeObjectsTakesDocumentsListsAndJSON(t *testing.T) {
	for _, c := range []struct {
		content string
		want    []string
	}{
		{"---\n# nothing\n---\n{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: b}}\n", []string{"a", "b"}},
		{`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"}}]}`, []string{"c"}},
		{"", nil},
	} {
		objects, err := decodeObjects([]byte(c.content))
		if err != nil || len(objects) != len(c.want) {
			t.Fatalf("%q: %d objects, error %v", c.content, len(objects), err)
		}
		for i, want := range c.want {
			if got := objects[i].GetName(); got != want {
				t.Errorf("%q: object %d is %q, want %q", c.content, i, got, want)
			}
		}
	}
	if _, err := decodeObjects([]byte("kind: Pod\n")); err == nil {
		t.Error("an object without apiVersion is accepted")
	}
}

func TestDataDirHasOneOwner(t *testing.T) {
	dir := t.TempDir()
	first, err := openDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openDataDir(dir); err == nil {
		t.Error("a second owner is accepted")
	}
	first.close()
	second, err := openDataDir(dir)
	if err != nil {
		t.Fatalf("after close: %v", err)
	}
	second.close()
}

func TestChurnLanesCoverEveryUpdateOnceAndInOrder(t *testing.T) {
	for pods := 1; pods < 12; pods++ {
		for lanes := 1; lanes <= pods; lanes++ {
			owner := map[int]int{} // lane by pod
			seen := map[int]bool{}
			for lane := range lanes {
				for i := lane; i < 40; i = nextInLane(i, lanes, pods) {
					if other, ok := owner[i%pods]; seen[i] || ok && other != lane {
						t.Fatalf("%d pods, %d lanes: update %d twice or out of its lane", pods, lanes, i)
					}
					owner[i%pods], seen[i] = lane, true
				}
			}
			if len(seen) != 40 {
				t.Errorf("%d pods, %d lanes: %d of 40 updates", pods, lanes, len(seen))
			}
		}
	}
}

// The size in the API is larger by about 5 KB of managed fields and defaults.
func TestBulkPodIsOfRealisticSize(t *testing.T) {
	pod := bulkPod("default", 42)
	pod.Status = runningStatus(pod)
	content, err := json.Marshal(pod)
	if err != nil || len(content) < 4000 || len(content) > 6000 {
		t.Errorf("%d bytes, error %v", len(content), err)
	}
	if pod.Name != "pod-00042" {
		t.Errorf("name is %s", pod.Name)
	}
}
