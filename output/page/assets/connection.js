// The socket: it is opened, watched, and opened again. A connection is alive only as
// long as something comes; a ping comes every 2 s, whatever happens in the cluster.

/** How long nothing may come before the connection counts as dead: together with the time
 * until the next look it is less than 5 s. */
export const silence = 4000;
/** How often that is looked at, and after how long without a look the machine slept. */
const look = 500, slept = 10000;
const longestWait = 5000;

/** Connection calls onMessage with each message, and onState with "open", "down" or
 * "ended" and why. position says from where to go on. */
export class Connection {
  constructor({ url, position, parameters, onMessage, onState }) {
    Object.assign(this, { url, position, parameters, onMessage, onState });
    this.socket = null;
    this.state = "";
    this.attempts = 0;
    this.timer = 0;
    this.looked = Date.now();
  }

  start() {
    setInterval(() => this.look(), look);
    // The network, or the lid: what was open is perhaps not any more, and waiting is over.
    addEventListener("online", () => this.again());
    addEventListener("pageshow", (e) => e.persisted && this.again());
    document.addEventListener("visibilitychange", () => document.hidden || this.look());
    this.open();
  }

  open() {
    clearTimeout(this.timer);
    this.timer = 0;
    const { stream, seq } = this.position();
    const address = new URL(this.url);
    address.search = new URLSearchParams({ ...(stream && { stream, since: seq }), ...this.parameters() });
    const socket = this.socket = new WebSocket(address);
    this.heard = Date.now();
    socket.onmessage = (e) => this.socket === socket && this.take(e.data);
    socket.onclose = () => this.socket === socket && this.lost("the connection was closed");
  }

  take(text) {
    this.heard = Date.now();
    const message = JSON.parse(text);
    if (message.type === "hello") {
      this.attempts = 0;
      this.setState("open");
    }
    if (message.type === "bye") {
      this.setState("ended", message.reason);
      return;
    }
    this.onMessage(message);
  }

  /** look finds a connection that died without a word, and a machine that slept. */
  look() {
    const now = Date.now(), pause = now - this.looked;
    this.looked = now;
    // In a tab that is not seen, timers are rare, too, but messages come.
    if (!this.socket || now - this.heard <= silence) return;
    if (pause > slept) this.again();
    else this.lost("nothing was heard for 5 s");
  }

  lost(why) {
    this.abandon();
    if (this.state !== "ended") this.setState("down", why);
    const wait = Math.min(longestWait, 250 * 2 ** this.attempts++);
    // Not all pages at the same moment, when a server comes back.
    this.timer = setTimeout(() => this.open(), wait * (0.5 + Math.random() / 2));
  }

  /** again connects now. */
  again() {
    this.abandon();
    this.attempts = 0;
    this.open();
  }

  abandon() {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  setState(state, why = "") {
    if (state === this.state) return;
    this.state = state;
    this.onState(state, why);
  }

  send(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }
}
