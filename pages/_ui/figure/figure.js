// The one figure: Plotly.react in place, handles over it, regions and rules under it, picks, downloads.

import { Handle, Sender } from "./handles.js";
import { move, stillPart, whole } from "./moves.js";
import { drawnText, showPreviews } from "./preview.js";
import { download } from "./slide.js";
import { readTheme, resolve, watchTheme } from "./theme.js";

const SVG = "http://www.w3.org/2000/svg";
const QUIET = 300; // ms without a change after which the drawing library is told what was moved without it
const CLEAR = 7; // px that a dimmed region keeps away from its handle, so that a dot on the rule stays whole
const figures = new WeakMap();
let loading;

/** The drawing library, requested once per page. */
function loadPlotly(source) {
  loading ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = source;
    script.onload = () => done(window.Plotly);
    script.onerror = () => {
      loading = undefined;
      failed(new Error("The drawing library could not be loaded; check the server's static folder and reload."));
    };
    document.head.appendChild(script);
  });
  return loading;
}

function part(parent, name) {
  const element = document.createElement("div");
  element.className = name;
  parent.appendChild(element);
  return element;
}

class Figure {
  constructor(box, data) {
    this.box = box;
    this.data = data;
    box.style.height = `${data.height}px`;
    this.under = part(box, "under");
    this.hulls = document.createElementNS(SVG, "svg");
    this.hulls.setAttribute("class", "hulls");
    this.under.appendChild(this.hulls);
    this.plot = part(box, "plot");
    this.over = part(box, "over");
    this.wait = part(box, "wait");
    this.handles = new Map();
    this.regions = [];
    this.draws = this.picks = 0;
    this.sender = new Sender((message) => this.post("drag", message));
    this.queue = Promise.resolve();
    this.buttons();
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(box);
    this.stopWatching = watchTheme(box, () => this.update(this.data, this.post));
  }

  buttons() {
    const bar = part(this.box, "save");
    for (const format of ["png", "svg"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = format.toUpperCase();
      button.title = `Download this figure as ${format.toUpperCase()}, slide-sized`;
      button.setAttribute("aria-label", button.title);
      button.addEventListener("click", () => this.draws && download(window.Plotly, this, format));
      bar.appendChild(button);
    }
  }

  /** Take what Python sent, unless a newer figure overtook it; drawings are done one after the other, the newest only. */
  update(data, post) {
    if (data.turn < this.data.turn) return;
    this.data = data;
    this.post = post;
    const turn = (this.turn = (this.turn || 0) + 1);
    this.queue = this.queue
      .then(() => (this.closed || turn !== this.turn ? undefined : this.draw()))
      .catch((error) => {
        this.wait.textContent = error.message;
        console.error(error);
      });
  }

  async draw() {
    const Plotly = await loadPlotly(new URL(this.data.plotly, document.baseURI).href);
    if (this.closed) return;
    const { data } = this;
    const theme = readTheme(this.box);
    const figure = JSON.parse(data.figure);
    const look = JSON.stringify(theme) + drawnText(figure, data.previews);
    this.theme = theme;
    this.takeValues();
    this.makeRegions();
    const before = this.spec;
    this.spec = this.dressed(figure);
    if (look !== this.look) {
      const still = JSON.stringify(theme) + drawnText(stillPart(figure), data.previews);
      if (still === this.still) this.move(before);
      else await this.plotly(Plotly);
      if (this.closed) return;
      this.look = look;
      this.still = still;
    }
    if (!this.listening) this.listen();
    this.box.style.height = `${data.height}px`;
    this.plot.setAttribute("role", "img");
    this.plot.setAttribute("aria-label", data.alt);
    this.place();
    this.wait.hidden = true;
    this.box.dataset.ready = this.draws;
  }

  async plotly(Plotly) {
    const { traces, layout } = structuredClone({ traces: this.spec.data, layout: this.spec.layout });
    this.settle(false);
    await Plotly.react(this.plot, traces, layout, { displayModeBar: false, responsive: false });
    this.draws += 1;
  }

  move(before) {
    move(this.plot, before, this.spec);
    this.settle(true);
  }

  /** Later, when nobody drags, let the drawing library draw what was moved; until then nothing shows on hovering. */
  settle(later) {
    clearTimeout(this.settling);
    this.plot.classList.toggle("moved", later);
    if (!later) return;
    this.settling = setTimeout(() => {
      if (!this.quiet) return this.settle(true);
      this.queue = this.queue.then(() => !this.closed && this.moved && this.plotly(window.Plotly)).catch(console.error);
    }, QUIET);
  }

  get moved() {
    return this.plot.classList.contains("moved");
  }

  get quiet() {
    return this.sender.idle && ![...this.handles.values()].some((handle) => handle.dragging);
  }

  /** The figure with the theme's colours and font; the font of hover labels is not inherited. */
  dressed(figure) {
    const { tokens, font } = this.theme;
    const { data, layout } = resolve(figure, tokens);
    layout.font = { ...layout.font, family: font, color: tokens["@text"] };
    if (layout.hoverlabel) layout.hoverlabel.font = { ...layout.hoverlabel.font, family: font };
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.autosize = true;
    return whole({ data, layout });
  }

  listen() {
    this.listening = true;
    this.plot.on("plotly_afterplot", () => this.place());
    this.plot.on("plotly_click", ({ points }) => this.pick(points));
  }

  pick(points) {
    const chosen = points?.find((point) => point.customdata !== undefined && point.customdata !== null);
    if (chosen) this.post("pick", { id: chosen.customdata, n: (this.picks = Math.max(this.picks, this.data.picks) + 1) });
  }

  /** A press on a handle without moving it reaches the point under it. */
  clickThrough(handle, event) {
    handle.grip.style.pointerEvents = "none";
    const target = document.elementFromPoint(event.clientX, event.clientY);
    const where = { bubbles: true, view: window, clientX: event.clientX, clientY: event.clientY };
    if (target && this.plot.contains(target))
      for (const name of ["mousemove", "mousedown", "mouseup", "click"]) target.dispatchEvent(new MouseEvent(name, where));
    handle.grip.style.pointerEvents = "";
  }

  /** Values from Python count only when nothing is being dragged or on its way. */
  takeValues() {
    const { data, handles } = this;
    this.sender.answer(data.ack);
    this.box.setAttribute("aria-busy", !this.sender.idle);
    const free = this.quiet;
    for (const spec of data.handles) {
      const handle = handles.get(spec.name);
      if (!handle) handles.set(spec.name, new Handle(this, spec));
      else {
        handle.spec = spec;
        if (free) handle.value = spec.value;
      }
    }
    for (const [name, handle] of handles) {
      if (data.handles.some((spec) => spec.name === name)) continue;
      handle.remove();
      handles.delete(name);
    }
  }

  commit(urgent) {
    const values = Object.fromEntries([...this.handles].map(([name, handle]) => [name, handle.value]));
    this.box.setAttribute("aria-busy", true);
    this.sender.send({ values }, urgent);
  }

  makeRegions() {
    const drawn = JSON.stringify([this.data.regions, this.theme.tokens]);
    if (drawn === this.drawnRegions) return;
    this.drawnRegions = drawn;
    for (const { boxes } of this.regions) boxes.forEach((box) => box.remove());
    this.regions = this.data.regions.map((spec) => ({ spec, boxes: this.makeRegion(spec) }));
  }

  /** The tint lies under the plot, or over it where it dims; its word lies over everything but the handles. */
  makeRegion(spec) {
    const { tokens } = this.theme;
    const tint = document.createElement("div");
    tint.className = `region${spec.hatch ? " hatch" : ""}`;
    tint.style.background = spec.dim ? tokens["@bg"] : resolve(spec.fill, tokens);
    if (spec.dim) tint.style.opacity = spec.dim;
    (spec.dim ? this.over : this.under).prepend(tint);
    if (!spec.label) return [tint];
    const frame = document.createElement("div");
    frame.className = "region word";
    part(frame, spec.place.replace(" ", "-")).textContent = spec.label;
    this.over.insertBefore(frame, this.over.querySelector(".handle"));
    return [tint, frame];
  }

  placeRegion({ boxes, spec }, layout) {
    const end = (value) => (typeof value === "string" ? this.handles.get(value)?.value : value);
    const span = (axis, ends, flipped) => {
      const pixels = ends.map((value, side) => {
        const at = end(value);
        const far = (side === 0) === flipped ? axis._length : 0;
        return at === null || at === undefined ? far : Math.min(axis._length, Math.max(0, axis.d2p(at)));
      });
      if (spec.dim)
        ends.forEach((value, side) => {
          if (typeof value === "string") pixels[side] += pixels[side] < pixels[1 - side] ? CLEAR : -CLEAR;
        });
      const size = Math.abs(pixels[1] - pixels[0]);
      const crossed = (pixels[1] - pixels[0]) * (flipped ? -1 : 1) < 0;
      return [axis._offset + Math.min(...pixels), crossed ? 0 : size];
    };
    const [left, width] = span(layout[spec.axes[0]], spec.x, false);
    const [top, height] = span(layout[spec.axes[1]], spec.y, true);
    const where = { left: `${left}px`, width: `${width}px`, top: `${top}px`, height: `${height}px` };
    for (const box of boxes) Object.assign(box.style, where, { display: width && height ? "" : "none" });
  }

  /** Put handles, regions and previews where the handles' values say; runs on every move of the pointer. */
  place() {
    const layout = this.plot._fullLayout;
    if (!layout || !this.box.isConnected || !this.box.offsetWidth) return;
    for (const handle of this.handles.values()) handle.place(layout);
    for (const region of this.regions) this.placeRegion(region, layout);
    showPreviews(this);
  }

  resize() {
    if (!this.draws || this.closed || !this.plot.isConnected || !this.plot.offsetWidth) return;
    if (this.moved) this.queue = this.queue.then(() => !this.closed && this.plotly(window.Plotly)).catch(console.error);
    else window.Plotly.Plots.resize(this.plot);
  }

  close() {
    this.closed = true;
    clearTimeout(this.settling);
    this.sender.close();
    this.sizes.disconnect();
    this.stopWatching();
    window.Plotly?.purge(this.plot);
  }
}

/** Draw or update the figure inside `parent`; called on every change of its data. */
export function show(parent, data, post) {
  let figure = figures.get(parent);
  if (!figure) {
    figure = new Figure(parent.querySelector(".figure"), data);
    figures.set(parent, figure);
  }
  figure.update(data, post);
}

/** Forget the figure inside `parent`; called once, when it leaves the page. */
export function close(parent) {
  figures.get(parent)?.close();
  figures.delete(parent);
}
