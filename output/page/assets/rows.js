// A virtual list: only the visible rows have elements. All rows have the same height.

/** Rows shows rows inside body in viewport, a scrolling element. create returns an element for a row, and
 * render(element, index) fills it. Elements are reused. */
export class Rows {
  constructor(viewport, body, { height, create, render }) {
    Object.assign(this, { viewport, body, height, create, render });
    this.count = 0;
    this.pool = new Map(); // index -> element
    this.spare = []; // hidden elements for reuse
    this.frame = 0;
    viewport.addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.schedule()).observe(viewport);
  }

  setCount(count) {
    this.count = count;
    // The body has the height of all rows, so that the scrollbar is right.
    const total = `${count * this.height}px`;
    if (this.body.style.height !== total) this.body.style.height = total;
  }

  setHeight(height) {
    if (height === this.height) return;
    this.height = height;
    this.setCount(this.count);
    for (const [index, element] of this.pool) element.style.transform = `translateY(${index * height}px)`;
  }

  /** schedule draws the rows in the next animation frame. */
  schedule() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** visible returns the index of the first and the last row that are at least partly visible. */
  visible() {
    const top = this.viewport.scrollTop;
    const first = Math.floor(top / this.height);
    const last = Math.min(this.count - 1, Math.floor((top + this.viewport.clientHeight) / this.height));
    return [Math.min(first, Math.max(0, last)), last];
  }

  /** draw renders the visible rows and some rows above and below them. */
  draw() {
    const [first, last] = this.visible();
    const from = Math.max(0, first - 4), to = Math.min(this.count - 1, last + 4);
    for (const [index, element] of this.pool) {
      if (index >= from && index <= to) continue;
      this.pool.delete(index);
      element.hidden = true;
      this.spare.push(element);
    }
    for (let index = from; index <= to; index++) {
      this.render(this.pool.get(index) ?? this.place(index), index);
    }
    this.onDrawn?.(first, last);
  }

  /** place returns an element at the position of a row. */
  place(index) {
    let element = this.spare.pop();
    if (!element) {
      element = this.create();
      this.body.append(element);
    }
    element.hidden = false;
    element.style.transform = `translateY(${index * this.height}px)`;
    this.pool.set(index, element);
    return element;
  }

  /** scrollTo scrolls as little as needed to show a row. A sticky heading covers headingHeight pixels at the top. */
  scrollTo(index, headingHeight = 0) {
    const top = index * this.height, view = this.viewport;
    if (top < view.scrollTop + headingHeight) view.scrollTop = top - headingHeight;
    else if (top + this.height > view.scrollTop + view.clientHeight) view.scrollTop = top + this.height - view.clientHeight;
  }
}
