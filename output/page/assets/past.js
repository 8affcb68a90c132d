// The time that is shown, of a recording or of what dwatch has seen: a slider, steps, and play. Where not all is known is on the
// slider. Of what goes on the right end is the present, which it follows.
import { h, setAttribute, setText } from "./dom.js";
import { clock, count, moment, visible } from "./format.js";

const second = 1000, minute = 60 * second;
/** Play takes so many steps for all of it, of a second at least, and waits in between, in ms. */
const playSteps = 60, playEvery = 500;
/** How long the slider has to stand still before its time is asked for, in ms; and how many gaps are listed. */
const settles = 200, mostListed = 50;
/** later is how long after the end a time is that stands for any later end, in ms. */
const later = 1000 * 86400 * second;

/** whyUnknown says of a gap why it is one, and in which of several clusters. */
export const whyUnknown = (gap) => visible([gap.cluster, gap.why].filter(Boolean).join(": "));

export class Past {
  constructor({ store, panel, button, onTime }) {
    Object.assign(this, { store, panel, button, onTime });
    button.addEventListener("click", () => this.toggle());
    this.at = 0;
    this.timer = 0; // of play
    this.settling = 0;
    this.playing = false;
    this.opened = false; // also while the present is shown
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
    const { past, held } = this.store.hello ?? {};
    if (past || !held) return past;
    const now = this.store.now();
    return { ...held, to: now, at: now };
  }

  /** isNow says that the present is shown. */
  get isNow() { return Boolean(this.store.hello?.held); }

  /** toggle opens the slider while the present is shown, or closes it. */
  toggle() {
    this.opened = !this.opened;
    if (!this.opened && !this.isNow) this.end(); // what is shown is closed with it
    else this.show();
  }

  /** follow moves the right end, which is the present. */
  follow() { if (this.opened && this.isNow && !this.settling) this.show(); }

  /** show takes over which time is shown. */
  show() {
    const { past } = this;
    this.opened ||= Boolean(past) && !this.isNow;
    this.panel.hidden = !past || !this.opened;
    this.button.hidden = !past?.live;
    setAttribute(this.button, "aria-pressed", this.opened);
    if (this.panel.hidden) return this.stop();
    if (!this.slider) this.build();
    // The present is where the right end is, however far the last step leads.
    Object.assign(this.slider, { min: past.from, max: this.isNow ? past.from + Math.ceil((past.to - past.from) / second) * second : past.to });
    if (!this.settling) this.say(this.at = past.at);
    if (!this.settling) this.slider.value = this.isNow ? this.slider.max : past.at;
    this.showGaps(past);
    clearTimeout(this.timer);
    if (this.playing && past.at < past.to) this.timer = setTimeout(() => this.go(past.at + Math.max(second, (past.to - past.from) / playSteps)), playEvery);
    else this.stop();
  }

  showGaps({ from, to, gaps = [], gapsMore = 0, damage = [], exported }) {
    const text = JSON.stringify([from, this.isNow ? 0 : to, gaps, damage]), left = leftOut(exported);
    if (text === this.shownGaps) return;
    this.shownGaps = text;
    this.gaps.replaceChildren(...gaps.map((g) => {
      const element = h("i"), share = (t) => (100 * (Math.max(from, Math.min(to, t)) - from)) / Math.max(1, to - from);
      element.style.left = `${share(g.from)}%`;
      element.style.width = `${share(g.to) - share(g.from)}%`;
      return element;
    }));
    const all = gaps.length + gapsMore;
    setText(this.summary, [all ? count(all, "gap") : damage.length ? "damaged" : "complete", left.length ? "part left out" : ""].filter(Boolean).join(", "));
    setAttribute(this.known, "class", all || damage.length || left.length ? "lacking" : "");
    const line = (g) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => { this.stop(); this.go(g.from); } }, `${moment(g.from)} to ${clock(g.to)}`), ` ${whyUnknown(g)}`);
    const none = `All is known from ${moment(from)} to ${moment(to)}.`;
    this.list.replaceChildren(...(all ? [h("li", {}, "Not known:"), ...gaps.slice(0, mostListed).map(line)] : damage.length ? [] : [h("li", {}, none)]),
      ...(all > mostListed ? [h("li", {}, `and ${all - mostListed} more`)] : []), ...damage.map((d) => h("li", {}, `damaged: ${visible(d)}`)), ...left.map((text) => h("li", {}, text)),
      ...(exported ? [h("li", {}, `This file was made by dwatch ${visible(exported.version)} at ${moment(exported.exported)}.`)] : []));
  }

  say(at) {
    const text = this.isNow && !this.settling ? "now" : moment(at);
    setText(this.label, text);
    setAttribute(this.slider, "aria-valuetext", text);
    setAttribute(this.endButton, "aria-pressed", this.past.live ? text === "now" : null);
  }

  /** slide goes where the slider is, once it stands still. */
  slide() {
    this.stop();
    const value = Number(this.slider.value), at = value + second > this.past.to ? this.past.to : value;
    this.settle(at);
  }

  /** settle goes to a time, unless another one is chosen at once: each is read anew. */
  settle(at) {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.go(at), settles);
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
    if (!this.past || this.isNow && minutes > 0) return false;
    if (this.isNow && !this.opened) this.toggle();
    this.stop();
    this.settle(this.slider.value = this.within(this.at + minutes * minute));
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
    this.playing = true;
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
