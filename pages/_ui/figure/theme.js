// Colour tokens, mixed from the two colours of Streamlit's theme; palette.py mixes the same for reports.

const TINTS = { "@opt": [213, 94, 0], "@dpn": [0, 114, 178], "@bad": [204, 51, 17] };

function channels(colour) {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
}

/** What every token means where `element` stands, with the page's font. */
export function readTheme(element) {
  const style = getComputedStyle(element);
  const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const text = channels(read("--st-text-color", "#17222B"));
  const ground = channels(read("--st-background-color", "#FFFFFF"));
  const dark = ground[0] + ground[1] + ground[2] < 384;
  const solid = (c) => `rgb(${c.join(",")})`;
  const clear = (c, alpha) => `rgba(${c.join(",")},${alpha})`;
  const mix = (share) => solid(text.map((c, i) => Math.floor(share * c + (1 - share) * ground[i] + 0.5)));
  const tokens = {
    "@text": solid(text),
    "@bg": solid(ground),
    "@muted": mix(0.72),
    "@neutral": mix(0.5),
    "@line": mix(0.3),
    "@grid": clear(text, 0.1),
    "@fill": clear(text, 0.12),
    "@surface": dark ? mix(0.1) : solid(ground),
    "@ring": dark ? mix(0.75) : solid(ground),
  };
  for (const [name, colour] of Object.entries(TINTS)) tokens[name] = clear(colour, dark ? 0.2 : 0.12);
  return { tokens, dark, font: read("--st-font", "sans-serif") };
}

/** `value` with every token in it replaced; packed arrays are left alone. */
export function resolve(value, tokens) {
  if (typeof value === "string") return tokens[value] ?? value;
  if (Array.isArray(value)) return value.map((entry) => resolve(entry, tokens));
  if (value === null || typeof value !== "object" || value.bdata !== undefined) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, resolve(entry, tokens)]));
}

/** Call `changed` when the theme changes, by the system or by hand: a colour that is a theme variable then transitions. */
export function watchTheme(box, changed) {
  const probe = document.createElement("span");
  probe.className = "probe";
  box.appendChild(probe);
  const listen = (event) => event.propertyName === "color" && changed();
  probe.addEventListener("transitionend", listen);
  return () => probe.remove();
}
