// The slider for the displayed time, with step buttons and playback. It works on a recording and on what dwatch has seen
// since it started. Times for which data is missing are hatched. For a live page, the right end follows the present, and
// the coverage is queried while the slider is open.
import { h, setAttribute, setText } from "./dom.js";
import { clock, count, moment, visible } from "./format.js";

const second = 1000, minute = 60 * second;
/** Playback covers the whole range in playSteps steps of at least a second, and waits playDelay ms between two steps. */
const playSteps = 60, playDelay = 500;
/** How long the slider must stand still before its time is loaded, in ms, and how many gaps are listed. */
const settleDelay = 200, gapLimit = 50;
/** farFuture is added to the end of a recording to request its end even if it has grown meanwhile, in ms. */
const farFuture = 1000 * 86400 * second;
/** How often the coverage of a live page is queried, and for how long an answer is valid, in ms. */
const queryInterval = 3 * second, coverageTTL = 10 * second, queryingText = "asking …";

/** gapReason returns the reason of a gap, and its cluster if there are several. */
export const gapReason = (gap) => visible([gap.cluster, gap.why].filter(Boolean).join(": "));

/** stretch returns the position and the width of a gap on the slider, in percent. known is the time of the query: a gap
 * that ended after it is still open, and extends to the end of the slider. */
export function stretch({ from, to, known = Infinity }, gap) {
  const position = (time) => (100 * (Math.max(from, Math.min(to, time)) - from)) / Math.max(1, to - from), left = position(gap.from);
  return [left, position(gap.to > known ? to : gap.to) - left];
}

export class TimeSlider {
  /** onTime is called with the selected time in ms, or 0 for the present. queryCoverage returns the coverage of a live
   * page. isConnected reports whether the page is connected, and isLoading whether a time is being loaded. */
  constructor({ store, panel, button, onTime, queryCoverage, isConnected, isLoading }) {
    Object.assign(this, { store, panel, button, onTime, queryCoverage, isConnected, isLoading });
    button.addEventListener("click", () => this.toggle());
    this.selected = 0; // selected time in ms
    this.playTimer = 0;
    this.settleTimer = 0; // 0 unless the slider was just moved
    this.isPlaying = false;
    this.isOpen = false; // may also be set while the present is shown
    this.coverage = null; // last answer for the current run of dwatch; null if there is none since the slider was opened
    this.coverageOf = 0; // start time of the run of coverage
    this.coverageError = ""; // error of the last query
    this.queriedAt = -Infinity; // by performance.now
    this.isQuerying = false;
  }

  build() {
    const button = (text, title, action) => h("button", { type: "button", title, "aria-label": `${text}: ${title}`, onclick: () => { this.stop(); action(); } }, text);
    this.slider = h("input", { type: "range", step: second, "aria-label": "Shown time", oninput: () => this.slide() });
    this.gaps = h("div", { class: "gaps", "aria-hidden": "true" });
    this.label = h("output");
    this.playButton = h("button", { type: "button", class: "play", onclick: () => this.play() }, "Play");
    this.list = h("ul");
    this.summary = h("summary");
    this.details = h("details", {}, this.summary, this.list);
    this.panel.replaceChildren(this.playButton, button("−1 min", "One minute back ([)", () => this.step(-1)), button("+1 min", "One minute forward (])", () => this.step(1)),
      h("div", { class: "track" }, this.gaps, this.slider), this.label, this.endButton = button(...(this.range.live ? ["Now", "The current state, live"] : ["End", "The end of the recording"]), () => this.goToEnd()), this.details);
  }

  /** range returns the available times, the displayed time (at) and the gaps. undefined means that only the present is
   * available. */
  get range() {
    const { past, started, live } = this.store.hello ?? {};
    if (past ? !past.live : !live) return past;
    const to = this.present, from = Math.min(past?.from ?? started, to);
    return { from, ...this.coverage, to, at: past?.at ?? to, known: this.coverage?.to, live: true };
  }

  /** present returns the current time by the clock of dwatch. */
  get present() { return this.isNow ? this.store.now() : Math.max(this.store.hello.past.to, Date.now() + (this.clockOffset ?? -Infinity)); }

  /** isNow reports whether the present is displayed. */
  get isNow() { return Boolean(this.store.hello?.live); }

  /** isPending reports whether a time is selected that is not displayed yet. */
  get isPending() { return this.settleTimer > 0 || this.isLoading(); }

  /** toggle opens the slider, or closes it and returns to the present. */
  toggle() {
    this.isOpen = !this.isOpen;
    if (!this.isOpen && !this.isNow) this.goToEnd();
    else this.update();
  }

  /** tick moves the end of a live page to the present, and queries the coverage. */
  tick() {
    if (!this.range?.live || this.panel.hidden) return;
    this.loadCoverage();
    this.draw();
  }

  /** loadCoverage queries the coverage of a live page, at most once per queryInterval. */
  async loadCoverage() {
    const { started } = this.store.hello, isSameRun = this.coverageOf === started;
    if (!isSameRun) Object.assign(this, { coverageOf: started, coverage: null, coverageError: "" });
    if (this.isQuerying || isSameRun && performance.now() - this.queriedAt < queryInterval) return;
    Object.assign(this, { isQuerying: true, queriedAt: performance.now() });
    const answer = await this.queryCoverage();
    this.isQuerying = false;
    if (this.panel.hidden || this.store.hello?.started !== started) return;
    this.coverageError = answer.error ?? "";
    if (!answer.error) Object.assign(this, { coverage: answer, clockOffset: answer.to - Date.now() });
    this.draw();
  }

  /** update shows the range and the displayed time of the last hello message, and schedules the next step of playback. */
  update() {
    const { range } = this;
    this.isOpen ||= Boolean(range) && !this.isNow;
    this.panel.hidden = !range || !this.isOpen;
    this.button.hidden = !range?.live;
    setAttribute(this.button, "aria-pressed", this.isOpen);
    if (this.panel.hidden) {
      Object.assign(this, { coverage: null, coverageOf: 0 }); // it will be outdated when the slider is opened again
      return this.stop();
    }
    if (!this.slider) this.build();
    if (range.live) this.loadCoverage();
    this.draw();
    if (!this.isPending) this.showTime(this.slider.value = this.selected = range.at);
    clearTimeout(this.playTimer);
    if (!this.isPlaying || range.at >= range.to) return this.stop();
    // The end of a live page moves during playback, so the last step goes to the end wherever that is.
    this.stepsLeft ||= Math.ceil((playSteps * (range.to - range.at)) / (range.to - range.from));
    const next = --this.stepsLeft ? range.at + Math.max(second, (range.to - range.at) / (this.stepsLeft + 1)) : range.to + farFuture;
    this.playTimer = setTimeout(() => this.go(next), playDelay);
  }

  /** draw draws the slider, its range and the gaps. */
  draw() {
    const { range } = this;
    // The range is a whole number of steps, so that the slider can reach its right end, the present.
    Object.assign(this.slider, { min: range.from, max: range.live ? range.from + Math.ceil((range.to - range.from) / second) * second : range.to });
    if (this.isNow && !this.isPending) {
      this.showTime(this.selected = range.at);
      this.slider.value = this.slider.max;
    }
    this.listGaps(range);
    (range.gaps ?? []).forEach((gap, i) => {
      const [left, width] = stretch(range, gap), { style } = this.gaps.children[i];
      style.left = `${left}%`;
      style.width = `${width}%`;
    });
  }

  /** uncertainty explains why the coverage may be outdated. It returns "" if the coverage is valid. */
  uncertainty({ live, known, to }) {
    if (!live) return "";
    if (!this.isConnected()) return "no connection to dwatch";
    return this.coverageError || (known + coverageTTL > to ? "" : queryingText);
  }

  /** listGaps lists the gaps, damaged parts and omissions, if they have changed. */
  listGaps(range) {
    const { from, to, known, gaps = [], gapsMore = 0, damage = [], exported, live } = range, uncertainty = this.uncertainty(range), isClosed = (g) => !(g.to > known);
    const signature = JSON.stringify([from, live ? 0 : to, gaps.map((g) => ({ ...g, to: isClosed(g) && g.to })), gapsMore, damage, uncertainty]), omissions = omissionTexts(exported);
    if (signature === this.gapSignature) return;
    this.gapSignature = signature;
    this.gaps.replaceChildren(...gaps.map(() => h("i")));
    const total = gaps.length + gapsMore, isComplete = !total && !damage.length && !uncertainty;
    setText(this.summary, [total ? count(total, "gap") : damage.length ? "damaged" : "", isComplete ? "complete" : visible(uncertainty), omissions.length ? "part left out" : ""].filter(Boolean).join(", "));
    setAttribute(this.details, "class", total || damage.length || omissions.length || uncertainty && uncertainty !== queryingText ? "incomplete" : "");
    const line = (g) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => { this.stop(); this.go(g.from); } }, `${moment(g.from)} to ${isClosed(g) ? clock(g.to) : "now"}`), ` ${gapReason(g)}`);
    const completeText = live ? `Complete since ${moment(from)}.` : `Complete from ${moment(from)} to ${moment(to)}.`;
    this.list.replaceChildren(...(total ? [h("li", {}, "Not known:"), ...gaps.slice(0, gapLimit).map(line)] : isComplete ? [h("li", {}, completeText)] : []),
      ...(total > gapLimit ? [h("li", {}, `and ${total - gapLimit} more`)] : []), ...damage.map((d) => h("li", {}, `damaged: ${visible(d)}`)), ...omissions.map((text) => h("li", {}, text)),
      ...(uncertainty ? [h("li", {}, `${total ? "There may be more gaps" : "There may be gaps"}: ${visible(uncertainty)}`)] : []),
      ...(exported ? [h("li", {}, `This file was made by dwatch ${visible(exported.version)} at ${moment(exported.exported)}.`)] : []));
  }

  /** showTime shows a time next to the slider. */
  showTime(at) {
    const text = this.isNow && !this.isPending ? "now" : moment(at);
    setText(this.label, text);
    setAttribute(this.slider, "aria-valuetext", text);
    setAttribute(this.endButton, "aria-pressed", this.range.live ? text === "now" : null);
  }

  /** slide selects the time of the slider. */
  slide() {
    this.stop();
    const value = Number(this.slider.value);
    this.goSoon(value + second > Number(this.slider.max) ? Infinity : value);
  }

  /** goSoon goes to a time after settleDelay, unless another time is selected before, since loading a time is expensive. A
   * time at the current end goes to the end, even if that moves meanwhile. */
  goSoon(to) {
    const isEnd = this.range.live && to >= this.range.to, at = this.limited(to);
    clearTimeout(this.settleTimer);
    this.settleTimer = setTimeout(() => (isEnd ? this.goToEnd() : this.go(at)), settleDelay);
    this.showTime(this.selected = at);
  }

  /** goToEnd goes to the present, or to the current end of the recording, which may still grow. */
  goToEnd() {
    this.clearSettleTimer();
    this.onTime(this.range.live ? 0 : this.range.to + farFuture);
    if (this.isNow) this.update();
  }

  clearSettleTimer() {
    clearTimeout(this.settleTimer);
    this.settleTimer = 0;
  }

  /** limited returns a time limited to the range. */
  limited(time) { return Math.round(Math.max(this.range.from, Math.min(this.range.to, time))); }

  /** step moves by a number of minutes. It returns false if no other time is available. */
  step(minutes) {
    if (!this.range || this.isNow && !this.isPending && minutes > 0) return false;
    if (this.isNow && !this.isOpen) this.toggle();
    this.stop();
    this.goSoon(this.selected + minutes * minute);
    this.slider.value = this.selected;
    return true;
  }

  /** go selects a time at once. */
  go(to) {
    this.clearSettleTimer();
    if (this.range.live && to >= this.range.to) return this.goToEnd();
    this.showTime(this.slider.value = this.selected = this.limited(to));
    this.onTime(this.selected);
  }

  /** play starts or stops playback. At the end, it starts from the beginning. */
  play() {
    if (this.isPlaying) return this.stop();
    Object.assign(this, { isPlaying: true, stepsLeft: 0 });
    setText(this.playButton, "Stop");
    this.go(this.isNow || this.selected >= this.range.to ? this.range.from : this.selected + second);
  }

  stop() {
    clearTimeout(this.playTimer);
    this.isPlaying = false;
    if (this.playButton) setText(this.playButton, "Play");
  }
}

/** omissionTexts returns a sentence for each kind of data that an exported file does not contain. */
function omissionTexts({ changesBefore, contentsBefore, leadUps, max } = {}) {
  const reason = `the size limit is ${(max / 1e6).toLocaleString("en")} MB`;
  return [
    changesBefore ? `Left out: changes before ${moment(changesBefore)}; ${reason}.` : "",
    contentsBefore ? `Left out: the YAML of objects before ${moment(contentsBefore)}; ${reason}.` : "",
    leadUps ? `Left out: the changes before ${count(leadUps, "failure")}.` : "",
  ].filter(Boolean);
}
