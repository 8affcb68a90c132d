// The connection to a running dwatch: a WebSocket for the stream of messages, HTTP for single queries.
import { Connection } from "./connection.js";

/** The timeout of a query in ms. Without it, a query would hang after the machine has slept. */
const queryTimeout = 15000;

/** Server is the data source of a page that dwatch serves. Exported (exported.js) has the same methods. */
export class Server {
  constructor(options) {
    this.connection = new Connection({ ...options, url: new URL("ws", document.baseURI).href.replace(/^http/, "ws") });
  }

  start() { this.connection.start(); }

  /** reconnect closes the connection and opens a new one at once. */
  reconnect() { this.connection.reconnect(); }

  /** drop closes a connection whose data can't be trusted, and reconnects after a backoff. */
  drop(reason) { this.connection.drop(reason); }

  send(message) { return this.connection.send(message); }

  /** query sends a GET request to api/path. It never throws: a failure is an answer with the member error. */
  async query(path, parameters) {
    try {
      const answer = await fetch(`api/${path}?${new URLSearchParams(parameters)}`, { signal: AbortSignal.timeout(queryTimeout) });
      return { status: answer.status, ...await answer.json() };
    } catch {
      return { error: "no answer from dwatch" };
    }
  }
}
