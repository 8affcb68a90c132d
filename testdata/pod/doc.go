// Package pod tests the output of dwatch manifests by running it like a pod. The process has only what a container has:
// the program as the only file of a read-only root, the user of the image, the mounts of the StatefulSet, and the token of
// the service account with its RBAC rights on a real API server.
//
// The tests need a user who may make mounts. They are skipped otherwise.
package pod
