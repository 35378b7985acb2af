// What only moves is moved in place, ten times as fast as the drawing library draws; it is told when nothing goes on.

import { axesOf, barPath, points } from "./preview.js";

const MOVING = ["x", "y", "text", "customdata", "hovertemplate"];

/** Lines, outlines, points and horizontal bars can be moved; words only where they stand. */
function canMove(trace) {
  const { type, mode = "", fill = "none", x, y } = trace;
  if (!Array.isArray(x) || !Array.isArray(y)) return false;
  if (type === "bar") return trace.orientation === "h" && typeof trace.width === "number";
  return type === "scatter" && ["none", "toself"].includes(fill) && !(mode.includes("text") && String(trace.text).includes("<"));
}

/** A line that can be moved is drawn through all its points, so that moving and drawing show the same. */
export function whole(trace) {
  const lines = canMove(trace) && trace.mode?.includes("lines");
  return lines ? { ...trace, line: { ...trace.line, simplify: false } } : trace;
}

/** A trace without what may move; of points the number stays, of words the places. */
function still(trace) {
  if (!canMove(trace)) return trace;
  const { mode = "", type, x, y } = trace;
  const rest = Object.fromEntries(Object.entries(trace).filter(([name]) => !MOVING.includes(name)));
  if (mode.includes("text")) return { ...rest, x, y };
  return type === "bar" || mode.includes("markers") ? { ...rest, count: x.length } : rest;
}

/** The figure without what may move: two figures with the same one differ in that alone. */
export const stillPart = (figure) => ({ ...figure, data: figure.data.map(still) });

/** Move what the plot shows of figure `before` to where `figure`, which has the same still part, has it. */
export function move(plot, before, figure) {
  const layout = plot._fullLayout;
  const nodes = new Map();
  for (const node of plot.querySelectorAll("g.trace")) nodes.set(node.__data__?.[0]?.trace?.index, node);
  figure.data.forEach((trace, index) => {
    const node = nodes.get(index);
    if (!node || !canMove(trace) || JSON.stringify(trace) === JSON.stringify(before.data[index])) return;
    const [xaxis, yaxis] = axesOf(layout, trace);
    const { mode = "", type, x, y } = trace;
    const at = (i) => `${xaxis.d2p(x[i])},${yaxis.d2p(y[i])}`;
    if (type === "bar") return points(node).forEach((bar, i) => bar.setAttribute("d", barPath(xaxis, yaxis, x[i], y[i], trace.width)));
    if (mode.includes("lines")) {
      const path = linePath(x, y, at);
      node.querySelector(".js-line")?.setAttribute("d", path);
      if (trace.fill === "toself") node.querySelector(".js-fill")?.setAttribute("d", `${path}Z`);
    }
    if (mode.includes("markers")) points(node).forEach((mark, i) => mark.setAttribute("transform", `translate(${at(i)})`));
    if (mode.includes("text")) {
      node.querySelectorAll(".textpoint text").forEach((word, i) => (word.textContent = trace.text[i]));
      node.__data__[0].trace.text = trace.text; // what a preview at rest says
    }
  });
}

/** A line through all points, interrupted where one is missing. */
function linePath(x, y, at) {
  let path = "";
  let pen = "M";
  x.forEach((value, i) => {
    const missing = value === null || y[i] === null;
    if (!missing) path += pen + at(i);
    pen = missing ? "M" : "L";
  });
  return path;
}
