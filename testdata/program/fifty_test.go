//go:build !windows

package program

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dwatch/testdata/race"
	"dwatch/testdata/testenv"
)

const (
	fifty     = 50
	objectsOf = 1000
)

// onlySends simulates API servers. c0 hangs.
var onlySends = &testenv.FakeServers{Objects: objectsOf, HangingServer: "c0"}

// TestFifty checks that dwatch prints all objects of fifty clusters although one of the clusters hangs. With -v it logs
// time and memory, which docs/contributing/measurements.md reports.
func TestFifty(t *testing.T) {
	server := httptest.NewServer(onlySends)
	defer server.Close()
	defer server.CloseClientConnections()
	path := sending(t, server.URL, 0, fifty)
	found, all := measure(t, path, (fifty-1)*objectsOf, "--all-contexts")
	if len(found) != fifty-1 || found["c0"] > 0 {
		t.Errorf("objects of %d clusters", len(found))
	}
	for name, n := range found {
		if n != objectsOf {
			t.Errorf("%s: %d objects", name, n)
		}
	}
	_, one := measure(t, path, objectsOf, "--context", "c1")
	_, five := measure(t, path, 5*objectsOf, "--context", "c1,c2,c3,c4,c5")
	t.Logf("%d clusters: %s; 5 clusters: %s; 1 cluster: %s", fifty, all, five, one)
	if !race.Enabled && five.memory > 3*one.memory {
		t.Errorf("five clusters take %d MB, and one %d MB", five.memory>>10, one.memory>>10)
	}
}

// TestTenAtOnce checks that dwatch starts its watches of ten clusters in parallel, so that together they take as long as
// the slowest one. No server answers a request before each server has received the same request.
func TestTenAtOnce(t *testing.T) {
	t.Parallel()
	const ten = 10
	var mu sync.Mutex
	together := map[string]*barrier{} // by request path without the cluster
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		mu.Lock()
		if together[rest] == nil {
			together[rest] = &barrier{names: map[string]bool{}, full: make(chan struct{})}
		}
		waiting := together[rest].enter(name, ten)
		mu.Unlock()
		select {
		case <-waiting:
			onlySends.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	found, of := measure(t, sending(t, server.URL, 1, ten), ten*objectsOf, "--all-contexts")
	if len(found) != ten {
		t.Errorf("objects of %d clusters", len(found))
	}
	t.Logf("%s", of)
}

// barrier blocks requests until every cluster has sent one.
type barrier struct {
	names map[string]bool
	full  chan struct{} // closed when all have arrived
}

func (b *barrier) enter(name string, all int) <-chan struct{} {
	if b.names[name] = true; len(b.names) == all {
		select {
		case <-b.full:
		default:
			close(b.full)
		}
	}
	return b.full
}

// sending writes a kubeconfig with count contexts, the first of which is c<first>, and returns its path.
func sending(t *testing.T, url string, first, count int) string {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("c%d", first+i))
	}
	if err := onlySends.WriteKubeconfig(path, url, names...); err != nil {
		t.Fatal(err)
	}
	return path
}

// cost is the time and memory of a run.
type cost struct {
	time, cpu time.Duration
	memory    int // KB; zero if unknown
}

func (c cost) String() string {
	return fmt.Sprintf("%s, %s of CPU, %d MB", c.time.Round(10*time.Millisecond), c.cpu.Round(10*time.Millisecond), c.memory>>10)
}

// measure runs dwatch until it has printed count events, and returns the number of events of each cluster.
func measure(t *testing.T, kubeconfig string, count int, where ...string) (found map[string]int, of cost) {
	t.Helper()
	cmd := exec.Command(filepath.Join(binaries, "dwatch"), append([]string{"--kubeconfig", kubeconfig, "cm", "-o", "json", "-q"}, where...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found = map[string]int{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for n := 0; n < count && lines.Scan(); n++ {
		found[clusterIn.FindStringSubmatch(lines.Text() + `"cluster":"`)[1]]++
	}
	of.time = time.Since(began)
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // the peak in rusage includes that of the parent
	if peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status); peak != nil {
		of.memory, _ = strconv.Atoi(string(peak[1]))
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	of.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return found, of
}

var clusterIn = regexp.MustCompile(`"cluster":"(\w*)`)
