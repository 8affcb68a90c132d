// Package destination has the destinations of runs, one file each: stdout, the change view, the live table, the page, receivers, the
// ranking of changes, and nothing.
package destination
