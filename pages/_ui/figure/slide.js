// A slide-sized download. An image sees neither the page's font nor the handles: both are put into the figure first.

import { flagText } from "./handles.js";
import { FAINT, dodged, faded, hullTraces } from "./preview.js";
import { resolve } from "./theme.js";

const SCALE = 8 / 3; // 960 x 540 points become 2560 x 1440 pixels
const LEAST = 540;
const CLEAR = 7; // px that a dimmed region keeps away from its handle
const FAMILY = "Arial, Helvetica, sans-serif";

const reference = (axis) => axis.replace("axis", "");

function rectangle(figure, region, tokens) {
  const full = figure.plot._fullLayout;
  const end = (value, axis, side) => {
    if (typeof value === "string") {
      const at = figure.handles.get(value).value;
      const away = (side === 0) === axis.startsWith("x") ? CLEAR : -CLEAR;
      return region.dim ? full[axis].p2d(full[axis].d2p(at) + away) : at;
    }
    if (value !== null) return value;
    return full[axis].type === "log" ? 10 ** full[axis].range[side] : full[axis].range[side];
  };
  const [xaxis, yaxis] = region.axes;
  return {
    type: "rect",
    layer: region.dim ? "above" : "below",
    xref: reference(xaxis),
    yref: reference(yaxis),
    x0: end(region.x[0], xaxis, 0),
    x1: end(region.x[1], xaxis, 1),
    y0: end(region.y[0], yaxis, 0),
    y1: end(region.y[1], yaxis, 1),
    line: { width: 0 },
    fillcolor: region.dim ? tokens["@bg"] : resolve(region.fill, tokens),
    opacity: region.dim || 1,
  };
}

function word(figure, region, tokens) {
  const [xaxis, yaxis] = region.axes.map(reference);
  const top = region.place !== "bottom left";
  const { x1, x0, y0, y1 } = rectangle(figure, region, tokens);
  const full = figure.plot._fullLayout;
  const at = (value, axis) => (full[axis].type === "log" ? Math.log10(value) : value);
  const right = region.place === "top right" || region.place === "beside";
  return {
    text: region.label,
    xref: xaxis,
    yref: yaxis,
    x: at(right ? Math.max(x0, x1) : Math.min(x0, x1), region.axes[0]),
    y: at(top ? Math.max(y0, y1) : Math.min(y0, y1), region.axes[1]),
    xanchor: region.place === "top right" ? "right" : "left",
    yanchor: top ? "top" : "bottom",
    textangle: region.place === "beside" ? 90 : 0,
    showarrow: false,
    font: { size: 12, color: tokens["@text"] },
  };
}

function rule(handle, tokens) {
  const x = handle.spec.along === "x";
  const own = reference(handle.spec.axis);
  const across = `${reference(handle.spec.across)} domain`;
  const ends = x ? { x0: handle.value, x1: handle.value, y0: 0, y1: 1 } : { x0: 0, x1: 1, y0: handle.value, y1: handle.value };
  const line = { color: tokens["@text"], width: 2 };
  return { type: "line", layer: "below", xref: x ? own : across, yref: x ? across : own, ...ends, line };
}

function flag(handle, tokens) {
  const x = handle.spec.along === "x";
  const own = reference(handle.spec.axis);
  const across = `${reference(handle.spec.across)} domain`;
  const at = handle.log ? Math.log10(handle.value) : handle.value;
  return {
    text: `<b>${flagText(handle.value, handle.spec)}</b>`,
    xref: x ? own : across,
    yref: x ? across : own,
    x: x ? at : 0,
    y: x ? 0 : at,
    xanchor: x ? "center" : "right",
    yanchor: x ? "top" : "middle",
    xshift: x ? 0 : -3,
    yshift: x ? -3 : 0,
    showarrow: false,
    bgcolor: tokens["@text"],
    borderpad: 3,
    font: { size: 13, color: tokens["@bg"] },
  };
}

/** Download what is seen now, at 16:9, as 'png' or 'svg'. */
export function download(Plotly, figure, format) {
  const { tokens } = figure.theme;
  const { data, layout } = structuredClone(figure.spec);
  const faint = faded(figure);
  const aside = dodged(figure);
  for (const trace of data) if (faint.has(trace.uid)) trace.opacity = FAINT;
  const handles = [...figure.handles.values()];
  const { regions } = figure.data;
  const margin = layout.margin || {};
  const height = Math.max(LEAST, figure.data.height);
  const labelled = regions.filter((region) => region.label);
  const framed = {
    ...layout,
    autosize: false,
    paper_bgcolor: tokens["@bg"],
    plot_bgcolor: tokens["@bg"],
    font: { ...layout.font, family: FAMILY },
    margin: { ...margin, l: margin.l + 24, r: margin.r + 24, t: margin.t + 16, b: margin.b + 12 },
    shapes: [
      ...(layout.shapes || []),
      ...regions.map((region) => rectangle(figure, region, tokens)),
      ...handles.map((handle) => rule(handle, tokens)),
    ],
    annotations: [
      ...(layout.annotations || []).map((note, i) => (aside.get(i) ? { ...note, yshift: (note.yshift || 0) - aside.get(i) } : note)),
      ...labelled.map((region) => word(figure, region, tokens)),
      ...handles.map((handle) => flag(handle, tokens)),
    ],
  };
  const size = { width: Math.round((height * 16) / 9), height, scale: format === "png" ? (SCALE * LEAST) / height : 1 };
  return Plotly.downloadImage({ data: [...hullTraces(figure), ...data], layout: framed }, { format, filename: figure.data.name, ...size });
}
