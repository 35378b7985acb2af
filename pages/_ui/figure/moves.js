// What only moves is moved in place, ten times as fast as the drawing library draws; it is told when nothing goes on.

import { axesOf, barPath, points } from "./preview.js";

const MOVING = ["x", "y", "text", "customdata", "hovertemplate"];

/** Straight lines, outlines, points and plain horizontal bars can be moved, words only where they stand; on axes that stay. */
function canMove(trace, layout) {
  const { type, mode, fill = "none", x, y } = trace;
  if (!Array.isArray(x) || !Array.isArray(y) || trace.error_x || trace.error_y) return false;
  if (axesOf(layout, trace).some((axis) => axis?.range?.length !== 2)) return false;
  if (type === "bar")
    return trace.orientation === "h" && typeof trace.width === "number" && trace.textposition === "none" && !trace.base;
  if (type !== "scatter" || !mode || !["none", "toself"].includes(fill)) return false;
  return (trace.line?.shape ?? "linear") === "linear" && !(mode.includes("text") && String(trace.text).includes("<"));
}

/** A figure whose lines that can be moved are drawn through all their points, so that moving and drawing show the same. */
export function whole({ data, layout }) {
  const drawn = (trace) => (canMove(trace, layout) ? { ...trace, line: { ...trace.line, simplify: false } } : trace);
  return { data: data.map((trace) => (trace.mode?.includes("lines") ? drawn(trace) : trace)), layout };
}

/** A trace without what may move; of points the number stays, of words the places. */
function still(trace, layout) {
  if (!canMove(trace, layout)) return trace;
  const { mode = "", type, x, y } = trace;
  const rest = Object.fromEntries(Object.entries(trace).filter(([name]) => !MOVING.includes(name)));
  if (mode.includes("text")) return { ...rest, x, y };
  return type === "bar" || mode.includes("markers") ? { ...rest, count: x.length } : rest;
}

/** The figure without what may move: two figures with the same one differ in that alone. */
export const stillPart = ({ data, layout }) => ({ layout, data: data.map((trace) => still(trace, layout)) });

/** Move what the plot shows of figure `before` to where `figure`, which has the same still part, has it. */
export function move(plot, before, figure) {
  const layout = plot._fullLayout;
  const nodes = new Map();
  for (const node of plot.querySelectorAll("g.trace")) nodes.set(node.__data__?.[0]?.trace?.index, node);
  figure.data.forEach((trace, index) => {
    const node = nodes.get(index);
    if (!node || !canMove(trace, figure.layout) || JSON.stringify(trace) === JSON.stringify(before.data[index])) return;
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
