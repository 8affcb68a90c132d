// Package chart has only tests. They render the chart of dwatch (cli/manifest/chart) with Helm's own packages, and pass
// the result to a real API server.
//
// It is a separate module, so that builds of dwatch do not need Helm.
package chart
