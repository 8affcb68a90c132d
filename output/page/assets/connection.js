// The WebSocket to dwatch. dwatch sends a ping every 2 s, so a connection without messages is dead and
// is replaced.

/** After this time without a message, in ms, the connection counts as dead. With the check interval,
 * a dead connection is found within 5 s. */
const silenceLimit = 4000;
/** How often the connection is checked, in ms. A longer pause between two checks than sleepPause means
 * that the machine slept. */
const checkInterval = 500, sleepPause = 10000;
/** The longest wait between two attempts to connect, in ms. */
const maxBackoff = 5000;

/** Connection keeps a WebSocket open. It calls onMessage with each message, and onState with "open",
 * "down" or "ended" and the reason. position returns the stream and the sequence number to resume from. */
export class Connection {
  constructor({ url, position, parameters, onMessage, onState }) {
    Object.assign(this, { url, position, parameters, onMessage, onState });
    this.socket = null;
    this.state = "";
    this.attempts = 0;
    this.timer = 0;
    this.checked = Date.now();
  }

  start() {
    setInterval(() => this.check(), checkInterval);
    // When the network comes back, or the page returns from the back/forward cache, reconnect without waiting for
    // a timer.
    addEventListener("online", () => this.reconnect());
    addEventListener("pageshow", (e) => e.persisted && this.reconnect());
    document.addEventListener("visibilitychange", () => document.hidden || this.check());
    this.open();
  }

  open() {
    clearTimeout(this.timer);
    this.timer = 0;
    const { stream, seq } = this.position();
    const address = new URL(this.url);
    address.search = new URLSearchParams({ ...(stream && { stream, since: seq }), ...this.parameters() });
    const socket = this.socket = new WebSocket(address);
    this.lastMessage = Date.now();
    socket.onmessage = (e) => this.socket === socket && this.receive(e.data);
    socket.onclose = () => this.socket === socket && this.drop("the connection was closed");
  }

  receive(text) {
    this.lastMessage = Date.now();
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

  /** check replaces a connection that has been silent for too long. */
  check() {
    const now = Date.now(), pause = now - this.checked;
    this.checked = now;
    // Timers are also throttled in a hidden tab, but there messages still arrive.
    if (!this.socket || now - this.lastMessage <= silenceLimit) return;
    if (pause > sleepPause) this.reconnect();
    else this.drop("no message for 5 s");
  }

  /** drop closes the connection, reports it as down, and reconnects after a backoff. */
  drop(reason) {
    this.close();
    if (this.state !== "ended") this.setState("down", reason);
    const wait = Math.min(maxBackoff, 250 * 2 ** this.attempts++);
    // Jitter keeps all open pages from reconnecting at the same moment.
    this.timer = setTimeout(() => this.open(), wait * (0.5 + Math.random() / 2));
  }

  /** reconnect closes the connection and opens a new one at once. */
  reconnect() {
    this.close();
    this.attempts = 0;
    this.open();
  }

  close() {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  setState(state, reason = "") {
    if (state === this.state) return;
    this.state = state;
    this.onState(state, reason);
  }

  /** send reports whether the message was sent. */
  send(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }
}
