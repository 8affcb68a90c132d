// Package pod is there for its tests: what dwatch manifests prints is run as its pod would be, by what a container
// of it has and no more: the program as all there is, a root that can't be written, the user of the image, the mounts
// of the StatefulSet, and the token of the service account, of which the API server knows what it may do.
//
// It takes a user who may make mounts; without one the tests are skipped.
package pod
