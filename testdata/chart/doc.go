// Package chart is there for its tests, which render the chart of dwatch (cli/manifest/chart) as Helm does,
// by Helm's own packages, and give what they make of it to a real API server.
//
// It is a module of its own, so that nobody who builds dwatch needs Helm.
package chart
