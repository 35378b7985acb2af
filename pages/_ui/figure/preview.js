// What follows a handle at frame rate without the server: fading, grouping, changing sides, riding along a curve.

export const FAINT = 0.1; // opacity of what a threshold has removed
const HULL = 0.15; // opacity of the outline around a group
const CLEAR = 1; // px between a rule and a note that steps aside for it
const SVG = "http://www.w3.org/2000/svg";
const DIGITS = new Intl.NumberFormat("en-US", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });

/** Outlines of the marker symbols that points may change to, in plotly's proportions. */
const SYMBOLS = {
  circle: (r) => `M${r},0A${r},${r} 0 1,1 0,${-r}A${r},${r} 0 0,1 ${r},0Z`,
  diamond: (r) => `M${1.3 * r},0L0,${1.3 * r}L${-1.3 * r},0L0,${-1.3 * r}Z`,
  square: (r) => `M${r},${r}H${-r}V${-r}H${r}Z`,
  "triangle-up": (r) => `M${-1.1547 * r},${0.577 * r}H${1.1547 * r}L0,${-1.1547 * r}Z`,
};

/** The drawn group and the full description of every trace, by uid. */
function tracesByUid(plot) {
  const found = new Map(plot._fullData.map((trace) => [trace.uid, { trace, node: null }]));
  for (const node of plot.querySelectorAll("g.trace")) {
    const uid = node.__data__?.[0]?.trace?.uid;
    if (found.has(uid)) found.get(uid).node = node;
  }
  return found;
}

export const points = (node) => [...node.querySelectorAll("path.point, .point > path")];

function fade(view, spec, value) {
  for (const [uid, weight] of Object.entries(spec.weights)) dim(view, uid, weight > value);
}

function dim(view, uid, shown) {
  const node = view.traces.get(uid)?.node;
  if (!node) return null;
  // Only what changes takes its time; what is drawn the first time is there at once.
  if (node.dataset.shown && node.dataset.shown !== String(shown)) node.classList.add("fading");
  node.dataset.shown = shown;
  node.style.opacity = shown ? 1 : FAINT;
  return node;
}

/** Connected components by union-find; a group's root is its smallest node. */
export function group(count, edges, value) {
  const parent = [...Array(count).keys()];
  const find = (i) => {
    while (parent[i] !== i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const [, i, j, weight] of edges) {
    if (!(weight > value)) continue;
    const [a, b] = [find(i), find(j)];
    parent[Math.max(a, b)] = Math.min(a, b);
  }
  return parent.map((_, i) => find(i));
}

function components(view, spec, value) {
  const entry = view.traces.get(spec.nodes);
  if (!entry?.node) return;
  const marks = points(entry.node);
  const roots = group(marks.length, spec.edges, value);
  const size = new Map();
  for (const root of roots) size.set(root, (size.get(root) || 0) + 1);
  const colour = (i) => spec.colours[roots[i] % spec.colours.length];
  marks.forEach((mark, i) => {
    const alone = size.get(roots[i]) === 1;
    mark.style.fill = alone ? view.tokens["@bg"] : colour(i);
    mark.style.stroke = alone ? view.tokens["@neutral"] : view.tokens["@ring"];
  });
  for (const [uid, i, , weight] of spec.edges) {
    const line = dim(view, uid, weight > value)?.querySelector(".js-line");
    if (line) line.style.stroke = weight > value ? colour(i) : view.tokens["@neutral"];
  }
  if (spec.hull) outline(view, spec, entry.trace, roots, colour, value);
}

/** A soft outline: thick round lines under each group, transparent as a whole so that crossings do not add up. */
function outline(view, spec, trace, roots, colour, value) {
  const [xaxis, yaxis] = axes(view, trace);
  const spot = (i) => `${xaxis._offset + xaxis.d2p(trace.x[i])},${yaxis._offset + yaxis.d2p(trace.y[i])}`;
  const paths = new Map();
  for (const [, i, j, weight] of spec.edges) {
    if (weight > value) paths.set(roots[i], (paths.get(roots[i]) || "") + `M${spot(i)}L${spot(j)}`);
  }
  const layer = view.hulls;
  const drawn = new Map([...layer.children].map((path) => [Number(path.dataset.root), path]));
  for (const [root, line] of paths) {
    const path = drawn.get(root) || layer.appendChild(document.createElementNS(SVG, "path"));
    drawn.delete(root);
    path.dataset.root = root;
    path.setAttribute("d", line);
    path.setAttribute("style", `stroke:${colour(root)};stroke-width:${spec.hull}px;opacity:${HULL}`);
  }
  for (const path of drawn.values()) path.remove();
}

/** The same outlines as traces, for a download: one per group, transparent as a whole. */
export function hullTraces(figure) {
  const traces = [];
  for (const spec of figure.data.previews) {
    const nodes = spec.kind === "components" && spec.hull && figure.plot._fullData.find((trace) => trace.uid === spec.nodes);
    if (!nodes) continue;
    const value = figure.handles.get(spec.handle).value;
    const roots = group(nodes.x.length, spec.edges, value);
    const lines = new Map();
    for (const [, i, j, weight] of spec.edges) {
      if (!(weight > value)) continue;
      const line = lines.get(roots[i]) || { x: [], y: [] };
      line.x.push(nodes.x[i], nodes.x[j], null);
      line.y.push(nodes.y[i], nodes.y[j], null);
      lines.set(roots[i], line);
    }
    for (const [root, line] of lines) {
      const color = spec.colours[root % spec.colours.length];
      // Round ends: a line of an image ends flat, so a dot as wide as the line sits on every node.
      traces.push({
        ...line,
        type: "scatter",
        mode: "lines+markers",
        xaxis: nodes.xaxis,
        yaxis: nodes.yaxis,
        opacity: HULL,
        cliponaxis: false,
        line: { color, width: spec.hull },
        marker: { color, size: spec.hull, opacity: 1, line: { width: 0 } },
      });
    }
  }
  return traces;
}

function sides(view, spec) {
  const entry = view.traces.get(spec.trace);
  if (!entry?.node) return;
  const values = spec.conditions.map((rule) => view.value(rule.handle));
  const own = entry.trace.marker?.size;
  const size = (k) => (Array.isArray(own) || ArrayBuffer.isView(own) ? own[k] : own);
  points(entry.node).forEach((mark, k) => {
    const i = spec.order.length ? spec.order[k] : k;
    const inside = spec.conditions.every((rule, c) => {
      const value = rule.values[i];
      return value !== null && (rule.most ? value <= values[c] : value > values[c]);
    });
    const [colour, symbol] = inside ? spec.inside : spec.outside;
    mark.style.fill = view.tokens[colour] ?? colour;
    if (entry.trace.type === "scatter" && SYMBOLS[symbol])
      mark.setAttribute("d", SYMBOLS[symbol]((spec.sizes[inside ? 0 : 1] ?? size(k)) / 2));
  });
}

function ride(view, spec, value) {
  const entry = view.traces.get(spec.trace);
  const mark = entry?.node && points(entry.node)[spec.point];
  if (!mark) return;
  const [xaxis, yaxis] = axes(view, entry.trace);
  const x = spec.x.length ? along(spec, spec.x, value) : value;
  const y = along(spec, spec.y, value);
  mark.setAttribute("transform", `translate(${xaxis.d2p(x)},${yaxis.d2p(y)})`);
  if (spec.bar) stretch(view, view.traces.get(spec.bar), spec.point, x, y);
  if (spec.told) tell(view, spec.told, value === view.rest(spec.handle) ? null : x);
}

function words(view, spec, value) {
  const word = view.note(spec.note);
  if (word) word.textContent = value >= spec.value ? spec.above : spec.below;
}

function dodge(view, spec, value) {
  const { axis } = view.handle(spec.handle);
  const rule = axis._offset + axis.d2p(value);
  for (const index of spec.notes) {
    const note = view.note(index);
    if (note) note.closest(".annotation").style.transform = `translateY(${aside(note, rule)}px)`;
  }
}

/** Pixels by which a note steps away from a horizontal rule, to the side on which its middle is. */
function aside(note, rule) {
  const box = note.closest(".annotation-text-g").getBBox();
  const [middle, half] = [box.y + box.height / 2, box.height / 2 + CLEAR];
  const away = middle - rule;
  return Math.abs(away) < half ? (away > 0 ? half - away : -half - away) : 0;
}

/** How far notes have stepped aside, by their index, for a download. */
export function dodged(figure) {
  const notes = figure.data.previews.filter((spec) => spec.kind === "dodge").flatMap((spec) => spec.notes);
  const shift = (index) => parseFloat(noteOf(figure, index)?.closest(".annotation").style.transform.slice(11)) || 0;
  return new Map(notes.map((index) => [index, shift(index)]));
}

const noteOf = (figure, index) => figure.plot.querySelector(`.annotation[data-index="${index}"] .annotation-text`);

/** A horizontal bar from 0 to x; one of no length is drawn without its sides, so its path is made anew. */
function stretch(view, bars, point, x, y) {
  const bar = bars?.node && points(bars.node)[point];
  if (!bar) return;
  const [xaxis, yaxis] = axes(view, bars.trace);
  bar.setAttribute("d", barPath(xaxis, yaxis, x, y, bars.trace.width));
}

export function barPath(xaxis, yaxis, x, y, width) {
  const [upper, lower] = [yaxis.d2p(y - width / 2), yaxis.d2p(y + width / 2)];
  return `M${xaxis.d2p(0)},${upper}V${lower}H${xaxis.d2p(x)}V${upper}Z`;
}

/** Three significant digits; where the handle stands for the server, what the server wrote: it rounds ties otherwise. */
function tell(view, [uid, point], x) {
  const { node, trace } = view.traces.get(uid) ?? {};
  const word = node?.querySelectorAll(".textpoint text")[point];
  if (word) word.textContent = x === null ? trace.text[point] : x === 0 ? "0" : DIGITS.format(x);
}

/** The track's value at a handle's value: a step function or linear in between. */
export function along(spec, track, value) {
  const { at } = spec;
  let k = at.findIndex((entry) => entry > value);
  if (k < 0) k = at.length;
  if (k === 0) return track[0];
  if (spec.steps || k === at.length) return track[k - 1];
  const share = (value - at[k - 1]) / (at[k] - at[k - 1]);
  return track[k - 1] + share * (track[k] - track[k - 1]);
}

/** Uids of the traces that a threshold has removed, for a download. */
export function faded(figure) {
  const gone = new Set();
  for (const spec of figure.data.previews) {
    const weights = { fade: () => Object.entries(spec.weights), components: () => spec.edges.map((e) => [e[0], e[3]]) };
    const value = figure.handles.get(spec.handle)?.value;
    for (const [uid, weight] of weights[spec.kind]?.() ?? []) if (!(weight > value)) gone.add(uid);
  }
  return gone;
}

/** Which attributes of which traces every kind of preview sets by itself. */
const OWNED = {
  fade: () => [],
  components: (spec) => [
    ...spec.edges.map(([uid]) => [uid, "line", "color"]),
    [spec.nodes, "marker", "color"],
    [spec.nodes, "marker", "line", "color"],
  ],
  sides: (spec) => [
    [spec.trace, "marker", "color"],
    [spec.trace, "marker", "symbol"],
    ...(spec.sizes.length ? [[spec.trace, "marker", "size"]] : []),
  ],
  ride: (spec) => [
    [spec.trace, "x"],
    [spec.trace, "y"],
  ],
  words: () => [],
  dodge: () => [],
};

/** A figure as text, without what its previews set: where nothing else changes, nothing is drawn anew. */
export function drawnText(figure, previews) {
  const owned = previews.flatMap((spec) => OWNED[spec.kind](spec));
  const traces = new Map(figure.data.map((trace) => [trace.uid, trace]));
  const bare = new Map();
  for (const [uid, ...path] of owned) {
    const trace = traces.get(uid);
    // Where hovering shows the place of a point, the drawing library has to know it.
    if (!trace || (path.length === 1 && trace.hoverinfo !== "skip")) continue;
    bare.set(uid, without(bare.get(uid) ?? trace, path));
  }
  const said = new Set(previews.filter((spec) => spec.kind === "words").map((spec) => spec.note));
  const notes = figure.layout.annotations?.map((note, i) => (said.has(i) ? without(note, ["text"]) : note));
  return JSON.stringify([{ ...figure.layout, annotations: notes }, figure.data.map((trace) => bare.get(trace.uid) ?? trace)]);
}

function without(part, [name, ...rest]) {
  if (!part || !(name in part)) return part;
  return { ...part, [name]: rest.length ? without(part[name], rest) : null };
}

export const axesOf = (layout, trace) =>
  [trace.xaxis || "x", trace.yaxis || "y"].map((name) => layout[name[0] + "axis" + name.slice(1)]);
const axes = (view, trace) => axesOf(view.layout, trace);

const KINDS = { fade, components, sides, ride, words, dodge };

/** Show every preview for the values at which the handles stand now. */
export function showPreviews(figure) {
  const { previews } = figure.data;
  if (!previews.length) return;
  const view = {
    traces: tracesByUid(figure.plot),
    layout: figure.plot._fullLayout,
    tokens: figure.theme.tokens,
    hulls: figure.hulls,
    note: (index) => noteOf(figure, index),
    handle: (name) => figure.handles.get(name),
    value: (name) => figure.handles.get(name)?.value,
    rest: (name) => figure.handles.get(name)?.spec.value,
  };
  for (const spec of previews) KINDS[spec.kind](view, spec, view.value(spec.handle));
}
