// What the page knows comes from a server: messages over a socket, and answers about one object.
import { Connection } from "./connection.js";

/** How long an answer may take. A machine that slept would wait for one for ever. */
const longestAnswer = 15000;

/** Server is a dwatch that serves the page. What is in a file has the same methods: see exported.js. */
export class Server {
  constructor(options) {
    this.connection = new Connection({ ...options, url: new URL("ws", document.baseURI).href.replace(/^http/, "ws") });
  }

  start() { this.connection.start(); }

  /** again connects now. */
  again() { this.connection.again(); }

  /** lost connects anew, as what came can't be trusted. */
  lost(why) { this.connection.lost(why); }

  send(message) { return this.connection.send(message); }

  /** ask asks about what is shown; the answer always is an object, perhaps with an error. */
  async ask(path, parameters) {
    try {
      const answer = await fetch(`api/${path}?${new URLSearchParams(parameters)}`, { signal: AbortSignal.timeout(longestAnswer) });
      return { status: answer.status, ...await answer.json() };
    } catch {
      return { error: "no answer from dwatch" };
    }
  }
}
