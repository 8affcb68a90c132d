// Package source reads the objects of one target from the server. It handles requests, connections,
// retries, silence and renewals around client-go's informer.
//
//	server -> client -> informer -> handler -> Observer
//	            \__ objects of a list ___/
//
// A [Source] runs one session after another. Each session has a DynamicSharedInformerFactory with
// one unstructured informer, because a factory has one namespace and one stop channel, and an
// informer can't be restarted. The session wraps dynamic.Interface for the informer. The wrapper
// retries with its own backoff, resumes a watch where it was interrupted, and gives the informer
// only what it has to act on.
//
// The observation of a change after the initial list travels through the informer inside the
// object. The informer's transform moves it to the object for the store, see stored.
package source
