package main

import (
	"math"
	"slices"
)

// metric identifies a measured quantity: a column of a table.
type metric int

const (
	firstOut    metric = iota // s
	allOut                    // s
	syncCPU                   // s
	syncPeak                  // bytes
	settled                   // bytes
	bytesOut                  // bytes
	churnSeen                 // events
	churnRate                 // events per second
	churnCPU                  // s per event
	churnPeak                 // bytes
	latency                   // s
	latencyP99                // s
	viewerBytes               // bytes per event
	startUp                   // s
	sentRate                  // events per second
	bytesRead                 // bytes
	churnRead                 // bytes per event
	onePeak                   // bytes
)

// results contains the measured values of each contender, one for each measurement.
type results map[string]map[metric][]float64

func (r results) add(contender string, m metric, value float64) {
	if r[contender] == nil {
		r[contender] = map[metric][]float64{}
	}
	r[contender][m] = append(r[contender][m], value)
}

// median returns the median of a contender's values, or NaN if there are none.
func (r results) median(contender string, m metric) float64 { return percentile(r[contender][m], 50) }

// paired returns the median of the ratios of two contenders that were measured in turns, or NaN if there are none. The
// two values of each ratio are from the same turn.
func (r results) paired(one, other string, m metric) float64 {
	var ratios []float64
	for i := range min(len(r[one][m]), len(r[other][m])) {
		ratios = append(ratios, r[one][m][i]/r[other][m][i])
	}
	return percentile(ratios, 50)
}

// percentile returns the p-th percentile of values, with linear interpolation. It returns NaN without values.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := p / 100 * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}
