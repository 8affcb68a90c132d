// One bar for each object, from its appearance to its end, in the colours of kstatus,
// with a tick where it changed. It is drawn on one canvas over the rows that are seen;
// what it shows is also in the rows, as words.
import { h, byId } from "./dom.js";
import { age, clock, count, visible } from "./format.js";
import { begin } from "./select.js";
import { lines } from "./lines.js";
import { statusClass } from "./store.js";
import { Warnings } from "./warnings.js";
import { timeWindow, marks, zoomed, panned, untilWith } from "./axis.js";

const near = 7; // pixels from a tick that still mean it
const barHeight = 11;

export class Timeline {
  /** state returns the state in the address; onWindow changes span and until of it. */
  constructor({ store, table, state, now, onWindow, onOpen }) {
    Object.assign(this, { store, table, state, now, onWindow, onOpen });
    this.canvas = byId("lanes");
    this.axis = byId("axis").firstElementChild;
    this.tip = byId("tip");
    this.warnings = new Warnings(store);
    this.frame = 0;
    this.fingers = new Map(); // id of a touch -> where it is
    this.listen();
    this.readColors();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.readColors(); this.schedule(); });
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colors = Object.fromEntries(["ink", "ink-3", "line", "panel", "here", "mark"].map((name) => [name, read(name)]));
    this.bars = Object.fromEntries(["current", "progress", "failed", "terminating", "unknown"].map((name) => [`is-${name}`, read(`${name}-bar`)]));
    this.bars["is-warning"] = this.bars["is-failed"];
    // Not by its colour alone: what has failed is striped, what is on its way has a line in it.
    this.textures = {
      "is-failed": texture((g) => stripe(g, this.colors.panel, 0.55, 2)),
      "is-progress": texture((g) => { g.globalAlpha = 0.5; g.fillStyle = this.colors.panel; g.fillRect(0, Math.floor(barHeight / 2) - 1, textureSize, 3); }, barHeight),
    };
    this.notStored = texture((g) => stripe(g, this.colors.ink, 0.5, 1));
    this.outage = texture((g) => stripe(g, this.colors.mark, 0.5, 1));
    this.sans = read("sans");
  }

  get shown() { return this.state().view === "timeline"; }

  schedule() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (this.shown) this.draw();
    });
  }

  /** begins is when dwatch began to see: what was before is not known. */
  get begins() { return this.store.hello?.started ?? this.now(); }

  /** oldest is from when on there is something to be seen: Events may tell of a time before that. */
  get oldest() { return Math.min(this.begins, this.warnings.oldest()); }

  draw() {
    const view = this.table.viewport, names = this.namesWidth(), width = Math.max(40, view.clientWidth - names);
    this.left = names;
    this.width = width;
    [this.from, this.to] = timeWindow(this.state(), this.oldest, this.now());
    this.marks = marks(this.from, this.to, width, width < 400 ? 64 : 84);
    this.canvas.style.left = `${names}px`;
    this.drawAxis(names, width);
    const g = context(this.canvas, width, view.clientHeight);
    this.drawGrid(g, view.clientHeight);
    const [first, last] = this.table.rows.visible();
    for (let i = first; i <= last; i++) this.drawRow(g, i);
    this.drawHover(g, view.clientHeight);
  }

  namesWidth() {
    const text = getComputedStyle(this.table.viewport).getPropertyValue("--names");
    return text.endsWith("px") ? parseFloat(text) : 300;
  }

  x(time) { return (time - this.from) / (this.to - this.from) * this.width; }

  time(x) { return this.from + x / this.width * (this.to - this.from); }

  drawAxis(names, width) {
    const g = context(this.axis, names + width, 28);
    g.font = `${Math.round(parseFloat(getComputedStyle(document.body).fontSize) * 0.85)}px ${this.sans}`;
    g.textBaseline = "middle";
    g.fillStyle = this.colors["ink-3"];
    // Where the right edge is the present, it says so.
    const said = "now", room = this.state().until ? 0 : g.measureText(said).width + 6;
    for (const mark of this.marks) {
      const x = names + this.x(mark.time), half = g.measureText(mark.label).width / 2;
      if (x - half < names || x + half > names + width - 4 - room) continue;
      g.fillText(mark.label, x - half, 15);
    }
    if (!room) return;
    g.fillStyle = this.colors.here;
    g.fillText(said, names + width - room, 15);
  }

  drawGrid(g, height) {
    g.fillStyle = this.colors.line;
    for (const mark of this.marks) g.fillRect(Math.round(this.x(mark.time)), 0, 1, height);
    this.drawOutages(g, height);
    const start = this.x(this.begins);
    if (start > 0) {
      g.globalAlpha = 0.55;
      g.fillStyle = this.colors.line;
      g.fillRect(0, 0, start, height);
      g.globalAlpha = 1;
    }
  }

  /** drawOutages shades where the watch had no connection: what happened there was found
   * out later. */
  drawOutages(g, height) {
    for (const [from, to] of outages(this.store.feed, this.now())) {
      const left = this.x(from), right = Math.max(left + 2, this.x(to));
      if (right < 0 || left > this.width) continue;
      g.fillStyle = this.colors.mark;
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
      const look = statusClass(state), seen = Math.max(from, Math.min(to, this.begins));
      g.fillStyle = this.bars[look];
      this.drawBar(g, seen, to, y);
      if (this.textures[look]) this.drawTexture(g, this.textures[look], seen, to, y);
      g.fillStyle = this.bars[look];
      if (from >= this.begins) continue;
      // It was there; in what state, nobody saw.
      g.globalAlpha = 0.3;
      this.drawBar(g, from, Math.min(to, this.begins), y);
      g.globalAlpha = 1;
    }
    // It changed there more often than is still known.
    if (row.ticksMore && row.ticks.length) this.drawTexture(g, this.notStored, row.first ?? begin(row), row.ticks[0], y);
    if (row.ended) this.drawEnd(g, row, y);
    this.drawTicks(g, row, y);
    this.drawWarnings(g, row, y);
  }

  drawWarnings(g, row, y) {
    let before = -9;
    for (const { time } of this.warnings.marks(row).sort((a, b) => a.time - b.time)) {
      const x = Math.round(this.x(time)) + 0.5;
      if (x < -4 || x > this.width + 4 || x - before < 3) continue;
      before = x;
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
    let before = -9;
    g.fillStyle = this.colors.ink;
    g.globalAlpha = 0.75;
    for (const time of row.ticks) {
      const x = Math.round(this.x(time));
      if (x < -2 || x > this.width + 2 || x - before < 2) continue;
      before = x;
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

  // Hands

  listen() {
    const view = this.table.viewport;
    view.addEventListener("pointermove", (e) => this.move(e));
    view.addEventListener("pointerleave", () => this.leave());
    view.addEventListener("pointerdown", (e) => this.press(e));
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, (e) => this.lift(e)); // wherever it ends
    // Before the table's own: what ends a drag is no click on a row.
    view.addEventListener("click", (e) => this.moved && e.stopImmediatePropagation(), { capture: true });
    view.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    view.addEventListener("scroll", () => { this.leave(); this.schedule(); }, { passive: true });
    // Behind the table's own: a row was clicked, and here is where.
    view.addEventListener("click", (e) => this.click(e));
  }

  place(event) {
    const box = this.table.viewport.getBoundingClientRect();
    const x = event.clientX - box.left - this.left, y = event.clientY - box.top;
    const index = Math.floor((y + this.table.viewport.scrollTop) / this.table.rows.height);
    return { x, y, key: this.table.items[index]?.key };
  }

  move(event) {
    if (!this.shown) return;
    const place = this.place(event);
    if (this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, place.x);
    if (this.fingers.size > 1) return this.pinch();
    if (this.dragging) return this.drag(place);
    if (place.x < 0 || event.pointerType === "touch") return this.leave();
    this.hover = place;
    this.say(place);
    this.schedule();
  }

  leave() {
    this.hover = null;
    this.tip.hidden = true;
    this.schedule();
  }

  press(event) {
    if (!this.fingers.size) this.moved = false;
    if (!this.shown) return;
    const place = this.place(event);
    if (place.x < 0) return;
    if (event.pointerType === "touch") this.fingers.set(event.pointerId, place.x);
    this.hold(place.x);
  }

  /** hold begins a drag there, or with a second finger a pinch. */
  hold(x) {
    const window = [this.from, this.to], [a, b] = [...this.fingers.values()];
    this.dragging = { x, window };
    this.pinching = this.fingers.size > 1 ? { window, apart: Math.abs(a - b), time: this.time((a + b) / 2) } : null;
  }

  lift(event) {
    this.dragging = this.pinching = null;
    if (this.fingers.delete(event.pointerId) && this.fingers.size) this.hold([...this.fingers.values()][0]); // the other finger goes on
  }

  /** pinch has what was between two fingers stay between them. */
  pinch() {
    const [a, b] = [...this.fingers.values()], { window: [from, to], apart, time } = this.pinching;
    this.moved = true;
    if (apart < near || Math.abs(a - b) < near) return; // one above the other: that says nothing
    const now = this.now(), factor = apart / Math.abs(a - b), longest = now - this.oldest + 1000;
    const next = zoomed([from, to], time, factor, now, longest);
    if (next.span) next.until = untilWith(time, (a + b) / 2 / this.width, next.span, now);
    this.onWindow(next);
  }

  drag(place) {
    const by = this.dragging.x - place.x;
    if (!this.moved && Math.abs(by) < 4) return;
    this.moved = true;
    const [from, to] = this.dragging.window;
    this.onWindow(panned([from, to], by / this.width * (to - from), this.now()));
  }

  wheel(event) {
    if (!this.shown || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    const { x } = this.place(event);
    if (x >= 0) this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(x));
  }

  zoom(factor, around = this.to) {
    const now = this.now();
    this.onWindow(zoomed([this.from, this.to], around, factor, now, now - this.oldest + 1000));
  }

  click(event) {
    if (!this.shown) return;
    const place = this.place(event);
    if (place.x < 0 || !place.key) return;
    const row = this.store.objects.get(place.key);
    const tick = row && this.tickAt(row, place.x);
    if (tick) this.onOpen(place.key, tick);
  }

  tickAt(row, x) {
    const closest = row.ticks.reduce((best, t) =>
      Math.abs(this.x(t) - x) < Math.abs(this.x(best) - x) ? t : best, row.ticks[0] ?? 0);
    return closest && Math.abs(this.x(closest) - x) <= near ? closest : 0;
  }

  /** stepTick is the tick of an object before (-1) or after (1) the chosen one. */
  stepTick(by) {
    const { object, at } = this.state();
    const ticks = this.store.objects.get(object)?.ticks ?? [];
    if (!ticks.length) return 0;
    if (!at) return by > 0 ? ticks[0] : ticks.at(-1);
    return (by > 0 ? ticks.find((t) => t > at) : ticks.findLast((t) => t < at)) ?? at;
  }

  /** say shows what is under the pointer. */
  say(place) {
    const row = this.store.objects.get(place.key);
    const said = row && (this.sayTick(row, place) ?? this.saySegment(row, place));
    this.tip.hidden = !said;
    if (!said) return;
    this.tip.replaceChildren(...said);
    const home = this.tip.offsetParent.getBoundingClientRect(), box = this.table.viewport.getBoundingClientRect();
    const left = Math.min(place.x + this.left + 14, box.width - this.tip.offsetWidth - 8);
    const below = box.top - home.top + place.y + 16;
    const fits = below + this.tip.offsetHeight < home.height;
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${fits ? below : below - this.tip.offsetHeight - 30}px`;
  }

  sayTick(row, place) {
    const tick = this.tickAt(row, place.x), warnings = this.warningsAt(row, place.x);
    if (!tick) return warnings.length ? [h("b", {}, `${clock(warnings[0].time)}  ${visible(row.name)}`), ...warningLines(warnings)] : null;
    const m = this.store.feed.findLast((m) => m.key === row.key && m.time === tick);
    const paths = m ? lines(m).slice(0, 6) : [];
    return [h("b", {}, `${clock(tick)}  ${visible(row.name)}`),
      ...paths.map((l) => h("p", {}, l.path ? [l.path, l.old, l.arrow, l.new].filter(Boolean).join(" ") : l.text)), ...warningLines(warnings)];
  }

  warningsAt(row, x) { return this.warnings.marks(row).filter(({ time }) => Math.abs(this.x(time) - x) <= near); }

  saySegment(row, place) {
    const time = this.time(place.x);
    const bar = bars(row, this.now()).find(([from, to]) => time >= from && time <= to);
    if (!bar) return null;
    const [from, to, state] = bar;
    return [h("b", {}, `${clock(time)}  ${visible(row.name)}`), h("p", {}, `${state} for ${age(to - from)}, since ${clock(from)}; ${count(row.changes ?? 0, "change")}`)];
  }
}

const warningLines = (warnings) => [...new Set(warnings.map(({ text }) => text))].slice(0, 4).map((text) => h("p", { class: "warning" }, text));

const textureSize = 6;

/** texture is a pattern to fill with, of what draw draws. */
function texture(draw, height = textureSize) {
  const tile = document.createElement("canvas");
  tile.width = textureSize;
  tile.height = height;
  const g = tile.getContext("2d");
  draw(g);
  return g.createPattern(tile, "repeat");
}

/** stripe draws one from corner to corner, which goes on in the next tile. */
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

/** bars are [from, to, state] of an object: its segments, each until the next. */
export function bars(row, now) {
  const end = row.ended || now;
  const segments = row.segments.length ? row.segments : [[row.first ?? begin(row), row.status.state]];
  return segments.map(([from, state], i) => [
    // What existed when dwatch began was there before; in what state, it did not see.
    i === 0 && row.initial && !row.segmentsMore ? Math.min(from, begin(row)) : from,
    segments[i + 1]?.[0] ?? end, state,
  ]);
}

/** outages are [from, to] without a connection, of any target. */
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
  // Several targets lose it together: one band, and not several over each other.
  return all.sort((a, b) => a[0] - b[0]).reduce((merged, band) => {
    const last = merged.at(-1);
    if (last && band[0] <= last[1]) last[1] = Math.max(last[1], band[1]);
    else merged.push([...band]);
    return merged;
  }, []);
}

/** context is a canvas of that size in CSS pixels, cleared. */
function context(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  const [w, t] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== t) {
    canvas.width = w;
    canvas.height = t;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const g = canvas.getContext("2d");
  g.setTransform(scale, 0, 0, scale, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
}
