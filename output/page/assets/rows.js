// A list of any length of which only the visible rows exist. All rows are of one
// height, so that a place in the list is a multiplication.

/** Rows shows rows in viewport, an element that scrolls. create makes an empty row,
 * render(element, index) fills one. */
export class Rows {
  constructor(viewport, body, { height, create, render }) {
    Object.assign(this, { viewport, body, height, create, render });
    this.count = 0;
    this.pool = new Map(); // index -> element
    this.spare = [];
    this.frame = 0;
    viewport.addEventListener("scroll", () => this.soon(), { passive: true });
    new ResizeObserver(() => this.soon()).observe(viewport);
  }

  setCount(count) {
    this.count = count;
    // The element with the height is the body: the scrollbar then tells the truth.
    const total = `${count * this.height}px`;
    if (this.body.style.height !== total) this.body.style.height = total;
  }

  setHeight(height) {
    if (height === this.height) return;
    this.height = height;
    this.setCount(this.count);
    for (const [index, element] of this.pool) element.style.transform = `translateY(${index * height}px)`;
  }

  soon() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** visible is the first and the last row to be seen, in part at least. */
  visible() {
    const top = this.viewport.scrollTop;
    const first = Math.floor(top / this.height);
    const last = Math.min(this.count - 1, Math.floor((top + this.viewport.clientHeight) / this.height));
    return [Math.min(first, Math.max(0, last)), last];
  }

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
      this.render(this.pool.get(index) ?? this.take(index), index);
    }
    this.drawn?.(first, last);
  }

  take(index) {
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

  /** show scrolls as little as makes a row visible below what is covered at the top. */
  show(index, covered = 0) {
    const top = index * this.height, view = this.viewport;
    if (top < view.scrollTop + covered) view.scrollTop = top - covered;
    else if (top + this.height > view.scrollTop + view.clientHeight) view.scrollTop = top + this.height - view.clientHeight;
  }
}
