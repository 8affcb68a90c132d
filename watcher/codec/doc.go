// Package codec is a serializer for the dynamic client that keeps the server's bytes.
//
// A full decode costs ten to fifty times as much as copying the bytes, and a watcher rarely needs
// the content. A raw object is an *unstructured.Unstructured that contains
//
//   - apiVersion and kind
//   - of the metadata: name, namespace, uid and resourceVersion. An object without a name, such as a bookmark, also has its annotations
//   - the whole object as a string, under a key that no JSON object of the API has. These are the server's bytes, without managedFields unless they were requested
//
// client-go's factory, informer, store and generic lister use it like a whole object. Other code
// must not: use [Content] for the whole object, and never encode a raw one.
//
// # Contract
//
// Content is one line of JSON. Numbers, key order and escapes are as the server sent them. If the
// server indents, white space is removed. An item of a typed list, which comes without apiVersion
// and kind, gets those of the list, at its front.
//
// An object that came as a row of a table, which [NewTableClient] requests, also has its cells, see
// [Columns] and [TableRow].
//
// Each byte that is not UTF-8 is replaced with U+FFFD, and the config's warning handler receives
// the name of the object. If an event of a watch is not valid JSON but identifies its object, the
// object is unreadable, see [IsUnreadable], and the handler receives its name. Other invalid JSON
// is an error and never content. What is not an object of the API (a Status, the body of an error,
// an unrequested Table) is decoded by the stock serializer.
//
// All functions are safe for concurrent use. Only [TakeContent] and [Columns.Complete] change a
// raw object.
package codec
