// Package codec is a serializer for the dynamic client that keeps the bytes.
//
// A full decode costs ten to fifty times what the bytes cost, and a watcher hardly ever looks at
// the content. A shallow object is an *unstructured.Unstructured that holds
//
//   - apiVersion and kind,
//   - of the metadata: name, namespace, uid and resourceVersion, and the
//     annotations where there is no name, which is how bookmarks come,
//   - the whole object as a string: the server's bytes, without managedFields
//     unless they were asked for, under a key that no JSON object of the API has.
//
// Factory, informer, store and generic lister stay client-go's own and take it for a whole object.
// No other code may: [Content] leads to the whole, and a shallow object is never encoded.
//
// # Contract
//
// Content is one line of JSON: numbers, key order, escapes and everything else as the server sent
// it. Only if the server indents, white space goes. An object of a typed list, which comes without
// apiVersion and kind, gets those of the list at its front.
//
// An object that came as a row of a table, which [NewTableClient] asks for, has what the table
// shows of it beside its content; see [Columns] and [Row].
//
// Invalid JSON is an error and never content. Whatever is not an object of the API (a Status, an
// error body, a Table that nobody asked for) is left to the serializer of the stock dynamic client.
//
// All functions are safe for concurrent use. Only [Take] changes a shallow object.
package codec
