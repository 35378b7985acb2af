// Thresholds that one drags: pointer, touch and keys; and the one-in-flight sender that carries their values.

const CATCH = 5; // px within which a drag stays on a value where something changes
const STILL = 3; // px of movement below which a press is a click
const RATIO = 1.05; // one arrow key on a log axis
const PAGE = 10; // steps of page up and down where nothing is given to jump to
const WAIT = 1500; // ms after which the newest value goes out although the last was not answered

/** One message in flight: the newest value goes out when the server has answered, or at once if `urgent`. */
export class Sender {
  constructor(post) {
    this.post = post;
    this.sent = this.answered = this.at = 0;
    this.pending = undefined;
  }

  get idle() {
    return this.pending === undefined && this.answered >= this.sent;
  }

  send(message, urgent = false) {
    this.pending = message;
    if (urgent) this.answered = this.sent;
    this.flush();
  }

  answer(count) {
    this.sent = Math.max(this.sent, count);
    this.answered = Math.max(this.answered, count);
    this.flush();
  }

  flush() {
    clearTimeout(this.timer);
    if (this.pending === undefined) return;
    const left = this.answered < this.sent ? WAIT - (performance.now() - this.at) : 0;
    if (left > 0) {
      this.timer = setTimeout(() => this.flush(), left);
      return;
    }
    const message = this.pending;
    this.pending = undefined;
    this.at = performance.now();
    this.post({ ...message, n: ++this.sent });
  }

  close() {
    clearTimeout(this.timer);
    this.pending = undefined;
  }
}

/** What the flag says; `handle_text` in Python says the same. */
export function flagText(value, spec) {
  const digits = spec.whole ? 0 : spec.digits;
  const number = value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return number.replace("-", "\u2212") + spec.unit;
}

export class Handle {
  constructor(figure, spec) {
    this.figure = figure;
    this.spec = spec;
    this.value = spec.value;
    this.dragging = false;
    this.grip = document.createElement("div");
    this.grip.tabIndex = 0;
    this.grip.setAttribute("role", "slider");
    this.flag = document.createElement("div");
    this.flag.className = "flag";
    this.number = document.createElement("span");
    this.flag.appendChild(this.number);
    this.grip.appendChild(this.flag);
    this.rule = document.createElement("div");
    this.rule.className = "rule";
    figure.over.appendChild(this.grip);
    figure.under.appendChild(this.rule);
    this.listen();
  }

  remove() {
    this.grip.remove();
    this.rule.remove();
  }

  get axis() {
    return this.figure.plot._fullLayout[this.spec.axis];
  }

  get log() {
    return this.axis.type === "log";
  }

  listen() {
    const { grip } = this;
    grip.addEventListener("pointerdown", (event) => this.press(event));
    grip.addEventListener("pointermove", (event) => this.dragging && this.move(event));
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"])
      grip.addEventListener(name, (event) => this.release(event));
    grip.addEventListener("keydown", (event) => this.key(event));
  }

  position(event) {
    const rect = this.figure.plot.getBoundingClientRect();
    return (this.spec.along === "x" ? event.clientX - rect.left : event.clientY - rect.top) - this.axis._offset;
  }

  press(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    this.grip.focus({ preventScroll: true, focusVisible: false });
    this.grip.setPointerCapture(event.pointerId);
    this.start = this.value;
    this.origin = this.position(event);
    this.offset = this.origin - this.axis.d2p(this.value); // pressing off-centre changes nothing
    this.dragging = true;
    this.moved = false;
    this.figure.place();
  }

  move(event) {
    const at = this.position(event);
    if (!this.moved && Math.abs(at - this.origin) < STILL) return;
    this.moved = true;
    this.set(this.caught(at - this.offset));
    if (this.figure.data.live) this.figure.commit(false);
  }

  release(event) {
    if (!this.dragging) return;
    this.dragging = false;
    this.figure.place();
    if (this.moved && this.value !== this.start) this.figure.commit(true);
    else if (!this.moved && event.type === "pointerup") this.figure.clickThrough(this, event);
  }

  cancel() {
    this.dragging = false;
    this.set(this.start);
    this.figure.place();
    if (this.figure.data.live) this.figure.commit(true);
  }

  /** The value at a pixel, or the value where something changes if one is near. */
  caught(pixel) {
    let best = this.round(this.axis.p2d(pixel));
    let distance = CATCH;
    for (const value of this.spec.snap) {
      const away = Math.abs(this.axis.d2p(value) - pixel);
      if (away < distance) [best, distance] = [value, away];
    }
    return best;
  }

  round(value) {
    const { low, step, whole } = this.spec;
    if (whole) return Math.round(value);
    if (this.log) return Number(value.toPrecision(3));
    return Number((low + Math.round((value - low) / step) * step).toFixed(10));
  }

  /** Take a value, clipped to the range, and show it at once everywhere in the browser. */
  set(value) {
    const { low, high } = this.spec;
    const next = Math.min(high, Math.max(low, value));
    if (!Number.isFinite(next) || next === this.value) return false;
    this.value = next;
    this.figure.place();
    return true;
  }

  key(event) {
    if (event.key === "Escape" && this.dragging) return this.cancel();
    const next = this.stepped(event.key);
    if (next === null) return undefined;
    event.preventDefault();
    if (this.set(next)) this.figure.commit(false);
    return undefined;
  }

  stepped(key) {
    const { low, high, step, snap, whole } = this.spec;
    if (key === "Home") return low;
    if (key === "End") return high;
    const direction = { ArrowLeft: -1, ArrowDown: -1, PageDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 1 }[key];
    if (!direction) return null;
    const page = key.startsWith("Page");
    if (page && snap.length) {
      const ahead = snap.filter((value) => (value - this.value) * direction > 0);
      return ahead.length ? (direction > 0 ? Math.min(...ahead) : Math.max(...ahead)) : direction > 0 ? high : low;
    }
    const count = page ? PAGE : 1;
    if (!this.log) return this.round(this.value + direction * count * step);
    const next = this.round(this.value * RATIO ** (direction * count));
    return whole && next === this.value ? this.value + direction : next;
  }

  place(layout) {
    const { spec, grip, rule, flag } = this;
    const x = spec.along === "x";
    const across = layout[spec.across];
    const at = Math.round(this.axis._offset + this.axis.d2p(this.value));
    const box = (style, thick) => {
      style.left = (x ? at - thick / 2 : across._offset) + "px";
      style.top = (x ? across._offset : at - thick / 2) + "px";
      style.width = (x ? thick : across._length) + "px";
      style.height = (x ? across._length : thick) + "px";
    };
    box(grip.style, 24);
    box(rule.style, 2);
    grip.className = `handle ${spec.along}${this.dragging ? " dragging" : ""}`;
    this.number.textContent = flagText(this.value, spec);
    const half = flag.offsetWidth / 2;
    const room = this.figure.box.clientWidth;
    flag.style.marginLeft = x ? Math.max(0, half - at) - Math.max(0, at + half - room) + "px" : "";
    this.describe();
    this.clear();
  }

  describe() {
    const { spec } = this;
    const facts = {
      label: spec.label,
      orientation: spec.along === "x" ? "horizontal" : "vertical",
      valuemin: spec.low,
      valuemax: spec.high,
      valuenow: this.value,
      valuetext: flagText(this.value, spec),
    };
    for (const [name, fact] of Object.entries(facts)) this.grip.setAttribute(`aria-${name}`, fact);
  }

  /** Hide tick labels under the flag whole, never half. */
  clear() {
    const flag = this.flag.getBoundingClientRect();
    for (const tick of this.figure.plot.querySelectorAll(`.${this.spec.axis.replace("axis", "")}tick text`)) {
      const box = tick.getBoundingClientRect();
      const under = box.right > flag.left - 3 && box.left < flag.right + 3 && box.bottom > flag.top && box.top < flag.bottom;
      tick.style.visibility = under ? "hidden" : "";
    }
  }
}
