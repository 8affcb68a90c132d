// Package access knows which rights a run takes. It asks the server for them, says
// what is missing and which flag would help, and writes the roles that grant them.
package access
