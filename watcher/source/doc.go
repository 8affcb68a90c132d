// Package source is one target's way from the server: requests, connections, retries, silence,
// renewals, and client-go's informer in the middle of it.
//
//	server -> client -> informer -> handler -> Observer
//	            \_ objects of a sync _____/
//
// A [Source] runs one session after the other. Each has a DynamicSharedInformerFactory with one
// unstructured informer: a factory has one namespace and one stop channel, and an informer never
// restarts. Below the informer, the session decorates dynamic.Interface: it retries with its own
// back-off, resumes a watch where it broke off, and gives the informer only what it has to act on.
//
// What is to be observed of an object that changed after the sync travels inside it through the
// informer, whose transform makes of each what its store is to keep: see stored.
package source
