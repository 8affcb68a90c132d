// Package replay makes recordings a source of runs: --from DIR or URL instead of a cluster.
//
//	Open -> Recording (one part for each cluster) -> Player  -> a run (stream, send, wait, top, live)
//	                                              -> Browser -> a page that shows any time
//	                                              -> At      -> a list of objects at a time
package replay
