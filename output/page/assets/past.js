// The time that is shown, of a recording or of what dwatch has seen: a slider, steps, and play. Where not all is known is on the
// slider. Of what goes on the right end is the present, which it follows; what is known of it becomes another all the time, and so
// is asked for while the slider is open.
import { h, setAttribute, setText } from "./dom.js";
import { clock, count, moment, visible } from "./format.js";

const second = 1000, minute = 60 * second;
/** Play takes so many steps for all of it, of a second at least, and waits in between, in ms. */
const playSteps = 60, playEvery = 500;
/** How long the slider has to stand still before its time is asked for, in ms; and how many gaps are listed. */
const settles = 200, mostListed = 50;
/** later is how long after the end a time is that stands for any later end, in ms. */
const later = 1000 * 86400 * second;
/** askEvery is how often it is asked what is known of what goes on, and trusted for how long an answer holds, in ms. */
const askEvery = 3 * second, trusted = 10 * second, asking = "asking …";

/** whyUnknown says of a gap why it is one, and in which of several clusters. */
export const whyUnknown = (gap) => visible([gap.cluster, gap.why].filter(Boolean).join(": "));

/** stretch is where a gap is on the slider, and how long, in percent. One that had not ended when that was asked goes on. */
export function stretch({ from, to, known = Infinity }, gap) {
  const share = (time) => (100 * (Math.max(from, Math.min(to, time)) - from)) / Math.max(1, to - from), left = share(gap.from);
  return [left, share(gap.to > known ? to : gap.to) - left];
}

/** Past asks what can be seen of what goes on by ask; isLinked says that it is connected, and isReading that a time is being read. */
export class Past {
  constructor({ store, panel, button, onTime, ask, isLinked, isReading }) {
    Object.assign(this, { store, panel, button, onTime, ask, isLinked, isReading });
    button.addEventListener("click", () => this.toggle());
    this.at = 0;
    this.timer = 0; // of play
    this.settling = 0;
    this.playing = false;
    this.opened = false; // also while the present is shown
    this.held = null; // what was answered last, of the run that is shown; null: nothing since the slider was opened
    this.doubt = ""; // why that need not be so any more
    this.asked = -Infinity; // when, in ms of performance.now
    this.isAsking = false;
  }

  build() {
    const button = (text, title, action) => h("button", { type: "button", title, "aria-label": `${text}: ${title}`, onclick: () => { this.stop(); action(); } }, text);
    this.slider = h("input", { type: "range", step: second, "aria-label": "Time that is shown", oninput: () => this.slide() });
    this.gaps = h("div", { class: "gaps", "aria-hidden": "true" });
    this.label = h("output");
    this.playButton = h("button", { type: "button", class: "play", onclick: () => this.play() }, "Play");
    this.list = h("ul");
    this.summary = h("summary");
    this.known = h("details", {}, this.summary, this.list);
    this.panel.replaceChildren(this.playButton, button("−1 min", "A minute back ([)", () => this.step(-1)), button("+1 min", "A minute on (])", () => this.step(1)),
      h("div", { class: "track" }, this.gaps, this.slider), this.label, this.endButton = button(...(this.past.live ? ["Now", "The present, as it goes on"] : ["End", "The end of the recording"]), () => this.end()), this.known);
  }

  /** past is which times there are, and which is shown; undefined: none but the present. */
  get past() {
    const { past, started, live } = this.store.hello ?? {};
    if (past ? !past.live : !live) return past;
    const to = this.present, from = Math.min(past?.from ?? started, to);
    return { from, ...this.held, to, at: past?.at ?? to, known: this.held?.to, live: true };
  }

  /** present is what time it is where dwatch runs. */
  get present() { return this.isNow ? this.store.now() : Math.max(this.store.hello.past.to, Date.now() + (this.ahead ?? -Infinity)); }

  /** isNow says that the present is shown. */
  get isNow() { return Boolean(this.store.hello?.live); }

  /** isChosen says that a time was chosen that is not shown yet. */
  get isChosen() { return this.settling > 0 || this.isReading(); }

  /** toggle opens the slider while the present is shown, or closes it. */
  toggle() {
    this.opened = !this.opened;
    if (!this.opened && !this.isNow) this.end(); // what is shown is closed with it
    else this.show();
  }

  /** follow moves the right end, if that is the present, and has what is known up to it asked for. */
  follow() {
    if (!this.past?.live || this.panel.hidden) return;
    this.askAgain();
    this.draw();
  }

  /** askAgain asks what is known of what goes on, unless that was just done. */
  async askAgain() {
    const { started } = this.store.hello, of = this.heldOf === started;
    if (!of) Object.assign(this, { heldOf: started, held: null, doubt: "" });
    if (this.isAsking || of && performance.now() - this.asked < askEvery) return;
    Object.assign(this, { isAsking: true, asked: performance.now() });
    const answer = await this.ask();
    this.isAsking = false;
    if (this.panel.hidden || this.store.hello?.started !== started) return;
    this.doubt = answer.error ?? "";
    if (!answer.error) Object.assign(this, { held: answer, ahead: answer.to - Date.now() });
    this.draw();
  }

  /** show takes over which time is shown. */
  show() {
    const { past } = this;
    this.opened ||= Boolean(past) && !this.isNow;
    this.panel.hidden = !past || !this.opened;
    this.button.hidden = !past?.live;
    setAttribute(this.button, "aria-pressed", this.opened);
    if (this.panel.hidden) {
      Object.assign(this, { held: null, heldOf: 0 }); // who opens it again is told what is known by then
      return this.stop();
    }
    if (!this.slider) this.build();
    if (past.live) this.askAgain();
    this.draw();
    if (!this.isChosen) this.say(this.slider.value = this.at = past.at);
    clearTimeout(this.timer);
    if (!this.playing || past.at >= past.to) return this.stop();
    // What goes on has gone on when the last step is made: it leads to the end, however long the others took.
    this.stepsLeft ||= Math.ceil((playSteps * (past.to - past.at)) / (past.to - past.from));
    const next = --this.stepsLeft ? past.at + Math.max(second, (past.to - past.at) / (this.stepsLeft + 1)) : past.to + later;
    this.timer = setTimeout(() => this.go(next), playEvery);
  }

  /** draw draws the slider: its ends, and what is not known between them. */
  draw() {
    const { past } = this;
    // The present is where the right end is, however far the last step leads.
    Object.assign(this.slider, { min: past.from, max: past.live ? past.from + Math.ceil((past.to - past.from) / second) * second : past.to });
    if (this.isNow && !this.isChosen) {
      this.say(this.at = past.at);
      this.slider.value = this.slider.max;
    }
    this.listGaps(past);
    (past.gaps ?? []).forEach((gap, i) => {
      const [left, width] = stretch(past, gap), { style } = this.gaps.children[i];
      style.left = `${left}%`;
      style.width = `${width}%`;
    });
  }

  /** doubts is why what is shown of what is known need not be so; empty: it is. */
  doubts({ live, known, to }) {
    if (!live) return "";
    if (!this.isLinked()) return "no connection to dwatch";
    return this.doubt || (known + trusted > to ? "" : asking);
  }

  /** listGaps says what is not known, where that has become otherwise: who reads it is not disturbed. */
  listGaps(past) {
    const { from, to, known, gaps = [], gapsMore = 0, damage = [], exported, live } = past, doubt = this.doubts(past), isOver = (g) => !(g.to > known);
    const text = JSON.stringify([from, live ? 0 : to, gaps.map((g) => ({ ...g, to: isOver(g) && g.to })), gapsMore, damage, doubt]), left = leftOut(exported);
    if (text === this.shownGaps) return;
    this.shownGaps = text;
    this.gaps.replaceChildren(...gaps.map(() => h("i")));
    const all = gaps.length + gapsMore, complete = !all && !damage.length && !doubt;
    setText(this.summary, [all ? count(all, "gap") : damage.length ? "damaged" : "", complete ? "complete" : visible(doubt), left.length ? "part left out" : ""].filter(Boolean).join(", "));
    setAttribute(this.known, "class", all || damage.length || left.length || doubt && doubt !== asking ? "lacking" : "");
    const line = (g) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => { this.stop(); this.go(g.from); } }, `${moment(g.from)} to ${isOver(g) ? clock(g.to) : "now"}`), ` ${whyUnknown(g)}`);
    const none = live ? `All is known since ${moment(from)}.` : `All is known from ${moment(from)} to ${moment(to)}.`;
    this.list.replaceChildren(...(all ? [h("li", {}, "Not known:"), ...gaps.slice(0, mostListed).map(line)] : complete ? [h("li", {}, none)] : []),
      ...(all > mostListed ? [h("li", {}, `and ${all - mostListed} more`)] : []), ...damage.map((d) => h("li", {}, `damaged: ${visible(d)}`)), ...left.map((text) => h("li", {}, text)),
      ...(doubt ? [h("li", {}, `${all ? "There may be others" : "Whether that is all is not known"}: ${visible(doubt)}`)] : []),
      ...(exported ? [h("li", {}, `This file was made by dwatch ${visible(exported.version)} at ${moment(exported.exported)}.`)] : []));
  }

  say(at) {
    const text = this.isNow && !this.isChosen ? "now" : moment(at);
    setText(this.label, text);
    setAttribute(this.slider, "aria-valuetext", text);
    setAttribute(this.endButton, "aria-pressed", this.past.live ? text === "now" : null);
  }

  /** slide goes where the slider is, once it stands still. */
  slide() {
    this.stop();
    const value = Number(this.slider.value);
    this.settle(value + second > Number(this.slider.max) ? Infinity : value);
  }

  /** settle goes to a time, unless another one is chosen at once: each is read anew. What is at the end by now leads there,
   * though that goes on meanwhile. */
  settle(to) {
    const isEnd = this.past.live && to >= this.past.to, at = this.within(to);
    clearTimeout(this.settling);
    this.settling = setTimeout(() => (isEnd ? this.end() : this.go(at)), settles);
    this.say(this.at = at);
  }

  /** end goes to the present, or the end of the recording as it is by now: it may go on. */
  end() {
    this.settled();
    this.onTime(this.past.live ? 0 : this.past.to + later);
    if (this.isNow) this.show();
  }

  settled() {
    clearTimeout(this.settling);
    this.settling = 0;
  }

  within(time) { return Math.round(Math.max(this.past.from, Math.min(this.past.to, time))); }

  /** step goes so many minutes on. It returns false if there is no other time. */
  step(minutes) {
    if (!this.past || this.isNow && !this.isChosen && minutes > 0) return false;
    if (this.isNow && !this.opened) this.toggle();
    this.stop();
    this.settle(this.at + minutes * minute);
    this.slider.value = this.at;
    return true;
  }

  go(to) {
    this.settled();
    if (this.past.live && to >= this.past.to) return this.end();
    this.say(this.slider.value = this.at = this.within(to));
    this.onTime(this.at);
  }

  /** play goes on from here, or at the end from the begin. */
  play() {
    if (this.playing) return this.stop();
    Object.assign(this, { playing: true, stepsLeft: 0 });
    setText(this.playButton, "Stop");
    this.go(this.isNow || this.at >= this.past.to ? this.past.from : this.at + second);
  }

  stop() {
    clearTimeout(this.timer);
    this.playing = false;
    if (this.playButton) setText(this.playButton, "Play");
  }
}

/** leftOut is what a file does not have, a line each. */
function leftOut({ changesBefore, contentsBefore, leadUps, max } = {}) {
  const room = `there was no room for it in ${(max / 1e6).toLocaleString("en")} MB`;
  return [
    changesBefore ? `Left out: what was before ${moment(changesBefore)}; ${room}.` : "",
    contentsBefore ? `Left out: the YAML of objects as they were before ${moment(contentsBefore)}; ${room}.` : "",
    leadUps ? `Left out: what led up to ${count(leadUps, "failure")}.` : "",
  ].filter(Boolean);
}
