// The timeline: a bar for each object from its creation to its deletion, coloured by its state, with a tick for each
// change. All bars are drawn on one canvas over the visible rows. The rows contain a text alternative.
import { h, byId } from "./dom.js";
import { age, clock, count, visible } from "./format.js";
import { begin } from "./select.js";
import { lines } from "./lines.js";
import { statusClass } from "./store.js";
import { Warnings } from "./warnings.js";
import { timeWindow, marks, zoomed, panned, untilWith } from "./axis.js";

const hitDistance = 7; // how far from a tick a click may be, in pixels
const barHeight = 11;

export class Timeline {
  /** state returns the state in the URL. onWindow is called with a new span and until. */
  constructor({ store, table, state, now, onWindow, onOpen }) {
    Object.assign(this, { store, table, state, now, onWindow, onOpen });
    this.canvas = byId("lanes");
    this.axis = byId("axis").firstElementChild;
    this.tip = byId("tip");
    this.warnings = new Warnings(store);
    this.frame = 0;
    this.fingers = new Map(); // pointer ID of a touch -> x
    this.listen();
    this.readColors();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.readColors(); this.schedule(); });
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colors = Object.fromEntries(["ink", "ink-3", "line", "panel", "here", "notice"].map((name) => [name, read(name)]));
    this.bars = Object.fromEntries(["current", "progress", "failed", "terminating", "unknown"].map((name) => [`is-${name}`, read(`${name}-bar`)]));
    this.bars["is-warning"] = this.bars["is-failed"];
    // Textures distinguish states without relying on colour: stripes for failed, a line for in progress.
    this.textures = {
      "is-failed": texture((g) => stripe(g, this.colors.panel, 0.55, 2)),
      "is-progress": texture((g) => { g.globalAlpha = 0.5; g.fillStyle = this.colors.panel; g.fillRect(0, Math.floor(barHeight / 2) - 1, textureSize, 3); }, barHeight),
    };
    this.notStored = texture((g) => stripe(g, this.colors.ink, 0.5, 1));
    this.outage = texture((g) => stripe(g, this.colors.notice, 0.5, 1));
    this.sans = read("sans");
  }

  /** shown reports whether the timeline is displayed. */
  get shown() { return this.state().view === "timeline"; }

  /** schedule draws the timeline in the next frame. */
  schedule() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (this.shown) this.draw();
    });
  }

  /** start returns when dwatch started. States before it are unknown. */
  get start() { return this.store.hello?.started ?? this.now(); }

  /** oldest returns the time of the oldest data. Events can be older than the start. */
  get oldest() { return Math.min(this.start, this.warnings.oldest()); }

  draw() {
    const view = this.table.viewport, names = this.namesWidth(), width = Math.max(40, view.clientWidth - names);
    this.left = names;
    this.width = width;
    [this.from, this.to] = timeWindow(this.state(), this.oldest, this.now());
    this.marks = marks(this.from, this.to, width, width < 400 ? 64 : 84);
    this.canvas.style.left = `${names}px`;
    this.drawAxis(names, width);
    const g = prepare(this.canvas, width, view.clientHeight);
    this.drawGrid(g, view.clientHeight);
    const [first, last] = this.table.rows.visible();
    for (let i = first; i <= last; i++) this.drawRow(g, i);
    this.drawHover(g, view.clientHeight);
  }

  /** namesWidth returns the width of the names left of the bars. */
  namesWidth() {
    const text = getComputedStyle(this.table.viewport).getPropertyValue("--names");
    return text.endsWith("px") ? parseFloat(text) : 300;
  }

  x(time) { return (time - this.from) / (this.to - this.from) * this.width; }

  time(x) { return this.from + x / this.width * (this.to - this.from); }

  drawAxis(names, width) {
    const g = prepare(this.axis, names + width, 28);
    g.font = `${Math.round(parseFloat(getComputedStyle(document.body).fontSize) * 0.85)}px ${this.sans}`;
    g.textBaseline = "middle";
    g.fillStyle = this.colors["ink-3"];
    // The right edge is labelled if it is the present.
    const label = "now", labelWidth = this.state().until ? 0 : g.measureText(label).width + 6;
    for (const mark of this.marks) {
      const x = names + this.x(mark.time), half = g.measureText(mark.label).width / 2;
      if (x - half < names || x + half > names + width - 4 - labelWidth) continue;
      g.fillText(mark.label, x - half, 15);
    }
    if (!labelWidth) return;
    g.fillStyle = this.colors.here;
    g.fillText(label, names + width - labelWidth, 15);
  }

  drawGrid(g, height) {
    g.fillStyle = this.colors.line;
    for (const mark of this.marks) g.fillRect(Math.round(this.x(mark.time)), 0, 1, height);
    this.drawOutages(g, height);
    const startX = this.x(this.start);
    if (startX > 0) {
      g.globalAlpha = 0.55;
      g.fillStyle = this.colors.line;
      g.fillRect(0, 0, startX, height);
      g.globalAlpha = 1;
    }
  }

  /** drawOutages shades times without a connection. Changes in these times were found later. */
  drawOutages(g, height) {
    for (const [from, to] of outages(this.store.feed, this.now())) {
      const left = this.x(from), right = Math.max(left + 2, this.x(to));
      if (right < 0 || left > this.width) continue;
      g.fillStyle = this.colors.notice;
      g.globalAlpha = 0.12;
      g.fillRect(left, 0, right - left, height);
      g.globalAlpha = 1;
      g.fillStyle = this.outage;
      g.fillRect(left, 0, right - left, height);
    }
  }

  drawRow(g, index) {
    const row = this.store.objects.get(this.table.items[index]?.key);
    if (!row) return;
    const { height } = this.table.rows;
    const top = index * height - this.table.viewport.scrollTop;
    const y = Math.round(this.left === 0 ? top + height - barHeight - 6 : top + (height - barHeight) / 2);
    for (const [from, to, state] of bars(row, this.now())) {
      const style = statusClass(state), observedFrom = Math.max(from, Math.min(to, this.start));
      g.fillStyle = this.bars[style];
      this.drawBar(g, observedFrom, to, y);
      if (this.textures[style]) this.drawTexture(g, this.textures[style], observedFrom, to, y);
      g.fillStyle = this.bars[style];
      if (from >= this.start) continue;
      // Before the start, the object existed in an unknown state.
      g.globalAlpha = 0.3;
      this.drawBar(g, from, Math.min(to, this.start), y);
      g.globalAlpha = 1;
    }
    // The store has dropped changes in this time.
    if (row.ticksMore && row.ticks.length) this.drawTexture(g, this.notStored, row.first ?? begin(row), row.ticks[0], y);
    if (row.ended) this.drawEnd(g, row, y);
    this.drawTicks(g, row, y);
    this.drawWarnings(g, row, y);
  }

  drawWarnings(g, row, y) {
    let previousX = -9;
    for (const { time } of this.warnings.marks(row).sort((a, b) => a.time - b.time)) {
      const x = Math.round(this.x(time)) + 0.5;
      if (x < -4 || x > this.width + 4 || x - previousX < 3) continue;
      previousX = x;
      g.beginPath();
      for (const [dx, dy] of [[-4.5, -1.5], [4.5, -1.5], [0, -8.5]]) g.lineTo(x + dx, y + dy);
      g.closePath();
      g.fillStyle = this.bars["is-warning"];
      g.strokeStyle = this.colors.panel;
      g.lineWidth = 2;
      g.stroke();
      g.fill();
    }
  }

  drawBar(g, from, to, y) {
    const left = Math.max(-2, this.x(from)), right = Math.min(this.width, Math.max(this.x(to), this.x(from) + 2));
    if (right > 0 && left < this.width && right > left) g.fillRect(left, y, right - left, barHeight);
  }

  drawTexture(g, texture, from, to, y) {
    g.save();
    g.translate(0, y);
    g.fillStyle = texture;
    this.drawBar(g, from, to, 0);
    g.restore();
  }

  drawEnd(g, row, y) {
    const x = Math.round(this.x(row.ended));
    g.fillStyle = this.colors["ink-3"];
    g.fillRect(x - 1, y - 3, 2, barHeight + 6);
  }

  drawTicks(g, row, y) {
    let previousX = -9;
    g.fillStyle = this.colors.ink;
    g.globalAlpha = 0.75;
    for (const time of row.ticks) {
      const x = Math.round(this.x(time));
      if (x < -2 || x > this.width + 2 || x - previousX < 2) continue;
      previousX = x;
      g.fillRect(x, y - 3, 1, barHeight + 6);
    }
    g.globalAlpha = 1;
    const { object, at } = this.state();
    if (row.key !== object || !at) return;
    const x = this.x(at);
    g.strokeStyle = this.colors.here;
    g.lineWidth = 2;
    g.beginPath();
    g.arc(x + 0.5, y + barHeight / 2, 8, 0, 2 * Math.PI);
    g.stroke();
  }

  drawHover(g, height) {
    if (!this.hover) return;
    g.fillStyle = this.colors.here;
    g.fillRect(Math.round(this.hover.x), 0, 1, height);
  }

  // User input

  listen() {
    const view = this.table.viewport;
    view.addEventListener("pointermove", (e) => this.pointerMoved(e));
    view.addEventListener("pointerleave", () => this.clearHover());
    view.addEventListener("pointerdown", (e) => this.pressed(e));
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, (e) => this.released(e)); // also outside the timeline
    // The capture phase runs before the table's listener: the click after a drag must not select a row.
    view.addEventListener("click", (e) => this.hasMoved && e.stopImmediatePropagation(), { capture: true });
    view.addEventListener("wheel", (e) => this.wheelTurned(e), { passive: false });
    view.addEventListener("scroll", () => { this.clearHover(); this.schedule(); }, { passive: true });
    // This listener runs after the table's, which selects the row.
    view.addEventListener("click", (e) => this.clicked(e));
  }

  /** position returns the position of an event relative to the bars, and the key of the row there. */
  position(event) {
    const box = this.table.viewport.getBoundingClientRect();
    const x = event.clientX - box.left - this.left, y = event.clientY - box.top;
    const index = Math.floor((y + this.table.viewport.scrollTop) / this.table.rows.height);
    return { x, y, key: this.table.items[index]?.key };
  }

  pointerMoved(event) {
    if (!this.shown) return;
    const position = this.position(event);
    if (this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, position.x);
    if (this.fingers.size > 1) return this.pinch();
    if (this.dragging) return this.drag(position);
    if (position.x < 0 || event.pointerType === "touch") return this.clearHover();
    this.hover = position;
    this.showTip(position);
    this.schedule();
  }

  clearHover() {
    this.hover = null;
    this.tip.hidden = true;
    this.schedule();
  }

  pressed(event) {
    if (!this.fingers.size) this.hasMoved = false;
    if (!this.shown) return;
    const position = this.position(event);
    if (position.x < 0) return;
    if (event.pointerType === "touch") this.fingers.set(event.pointerId, position.x);
    this.startDrag(position.x);
  }

  /** startDrag starts a drag, or a pinch if there is a second finger. */
  startDrag(x) {
    const window = [this.from, this.to], [a, b] = [...this.fingers.values()];
    this.dragging = { x, window };
    this.pinching = this.fingers.size > 1 ? { window, distance: Math.abs(a - b), time: this.time((a + b) / 2) } : null;
  }

  released(event) {
    this.dragging = this.pinching = null;
    if (this.fingers.delete(event.pointerId) && this.fingers.size) this.startDrag([...this.fingers.values()][0]); // the other finger continues
  }

  /** pinch zooms so that the time between two fingers stays between them. */
  pinch() {
    const [a, b] = [...this.fingers.values()], { window: [from, to], distance, time } = this.pinching;
    this.hasMoved = true;
    if (distance < hitDistance || Math.abs(a - b) < hitDistance) return; // fingers above each other
    const now = this.now(), factor = distance / Math.abs(a - b), maxLength = now - this.oldest + 1000;
    const next = zoomed([from, to], time, factor, now, maxLength);
    if (next.span) next.until = untilWith(time, (a + b) / 2 / this.width, next.span, now);
    this.onWindow(next);
  }

  drag(position) {
    const by = this.dragging.x - position.x;
    if (!this.hasMoved && Math.abs(by) < 4) return;
    this.hasMoved = true;
    const [from, to] = this.dragging.window;
    this.onWindow(panned([from, to], by / this.width * (to - from), this.now()));
  }

  wheelTurned(event) {
    if (!this.shown || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    const { x } = this.position(event);
    if (x >= 0) this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(x));
  }

  /** zoom zooms around a time. A factor below 1 shows a shorter window. */
  zoom(factor, around = this.to) {
    const now = this.now();
    this.onWindow(zoomed([this.from, this.to], around, factor, now, now - this.oldest + 1000));
  }

  clicked(event) {
    if (!this.shown) return;
    const { x, key } = this.position(event);
    if (x < 0 || !key) return;
    const row = this.store.objects.get(key);
    const tick = row && this.tickAt(row, x);
    if (tick) this.onOpen(key, tick);
  }

  /** tickAt returns the time of the tick of a row near x, or 0. */
  tickAt(row, x) {
    const closest = row.ticks.reduce((best, t) =>
      Math.abs(this.x(t) - x) < Math.abs(this.x(best) - x) ? t : best, row.ticks[0] ?? 0);
    return closest && Math.abs(this.x(closest) - x) <= hitDistance ? closest : 0;
  }

  /** stepTick returns the time of the tick before (-1) or after (1) the selected one. */
  stepTick(by) {
    const { object, at } = this.state();
    const ticks = this.store.objects.get(object)?.ticks ?? [];
    if (!ticks.length) return 0;
    if (!at) return by > 0 ? ticks[0] : ticks.at(-1);
    return (by > 0 ? ticks.find((t) => t > at) : ticks.findLast((t) => t < at)) ?? at;
  }

  /** showTip shows a tooltip about the change or the state at a position. */
  showTip({ x, y, key }) {
    const row = this.store.objects.get(key);
    const content = row && (this.tickTip(row, x) ?? this.stateTip(row, x));
    this.tip.hidden = !content;
    if (!content) return;
    this.tip.replaceChildren(...content);
    const parent = this.tip.offsetParent.getBoundingClientRect(), box = this.table.viewport.getBoundingClientRect();
    const left = Math.min(x + this.left + 14, box.width - this.tip.offsetWidth - 8);
    const below = box.top - parent.top + y + 16;
    const fits = below + this.tip.offsetHeight < parent.height;
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${fits ? below : below - this.tip.offsetHeight - 30}px`;
  }

  tickTip(row, x) {
    const tick = this.tickAt(row, x), warnings = this.warningsAt(row, x);
    if (!tick) return warnings.length ? [h("b", {}, `${clock(warnings[0].time)}  ${visible(row.name)}`), ...warningLines(warnings)] : null;
    const m = this.store.feed.findLast((m) => m.key === row.key && m.time === tick);
    const paths = m ? lines(m).slice(0, 6) : [];
    return [h("b", {}, `${clock(tick)}  ${visible(row.name)}`),
      ...paths.map((l) => h("p", {}, l.path ? [l.path, l.old, l.arrow, l.new].filter(Boolean).join(" ") : l.text)), ...warningLines(warnings)];
  }

  warningsAt(row, x) { return this.warnings.marks(row).filter(({ time }) => Math.abs(this.x(time) - x) <= hitDistance); }

  stateTip(row, x) {
    const time = this.time(x);
    const bar = bars(row, this.now()).find(([from, to]) => time >= from && time <= to);
    if (!bar) return null;
    const [from, to, state] = bar;
    return [h("b", {}, `${clock(time)}  ${visible(row.name)}`), h("p", {}, `${state} for ${age(to - from)}, since ${clock(from)}; ${count(row.changes ?? 0, "change")}`)];
  }
}

const warningLines = (warnings) => [...new Set(warnings.map(({ text }) => text))].slice(0, 4).map((text) => h("p", { class: "warning" }, text));

const textureSize = 6;

/** texture returns a fill pattern that repeats what draw draws on a tile. */
function texture(draw, height = textureSize) {
  const tile = document.createElement("canvas");
  tile.width = textureSize;
  tile.height = height;
  const g = tile.getContext("2d");
  draw(g);
  return g.createPattern(tile, "repeat");
}

/** stripe draws a diagonal stripe that continues in the next tile. */
function stripe(g, color, alpha, width) {
  g.globalAlpha = alpha;
  g.strokeStyle = color;
  g.lineWidth = width;
  for (const shift of [-textureSize, 0, textureSize]) {
    g.beginPath();
    g.moveTo(shift, textureSize);
    g.lineTo(shift + textureSize, 0);
    g.stroke();
  }
}

/** bars returns the bars [from, to, state] of an object: each segment lasts until the next one. */
export function bars(row, now) {
  const end = row.ended || now;
  const segments = row.segments.length ? row.segments : [[row.first ?? begin(row), row.status.state]];
  return segments.map(([from, state], i) => [
    // An object that existed at the start has a bar from its creation.
    i === 0 && row.initial && !row.segmentsMore ? Math.min(from, begin(row)) : from,
    segments[i + 1]?.[0] ?? end, state,
  ]);
}

/** outages returns the times [from, to] in which any target was not connected. */
export function outages(feed, now) {
  const open = new Map(), all = [];
  for (const m of feed) {
    if (m.type !== "watch" || !m.target) continue;
    const id = `${m.target.cluster ?? ""}/${m.target.resource}/${m.target.namespace}/${m.target.name}`;
    if (m.event === "DISCONNECTED") {
      if (!open.has(id)) open.set(id, m.time);
    } else if (open.has(id)) {
      all.push([open.get(id), m.time]);
      open.delete(id);
    }
  }
  for (const from of open.values()) all.push([from, now]);
  // Outages of different targets often overlap, and are merged.
  return all.sort((a, b) => a[0] - b[0]).reduce((merged, outage) => {
    const last = merged.at(-1);
    if (last && outage[0] <= last[1]) last[1] = Math.max(last[1], outage[1]);
    else merged.push([...outage]);
    return merged;
  }, []);
}

/** prepare resizes and clears a canvas, and returns its context. Sizes are in CSS pixels. */
function prepare(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const g = canvas.getContext("2d");
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
}
