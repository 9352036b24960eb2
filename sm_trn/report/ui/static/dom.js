// Elements from values. Foreign text reaches the page as text nodes and attributes only: there is no way here to give markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "href") node.setAttribute(name, safe(value));
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(3).filter((one) => one !== null && one !== undefined && one !== false && one !== ""));
  return node;
}

// A link leads to a place of this page, never anywhere else.
function safe(address) {
  return String(address).startsWith("#") ? String(address) : "#/";
}

export function h(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function s(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

// Sets a text only where it is another one; whether it was.
export function put(node, text) {
  const words = text ?? "";
  if (node.textContent === words) return false;
  node.textContent = words;
  return true;
}

export function mark(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
}

export function command(text) {
  const copy = h("button", { type: "button", "aria-label": `Copy: ${text}` }, "Copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Select it";
      getSelection().selectAllChildren(copy.previousElementSibling);
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 1600);
  });
  return h("div", { class: "cmd" }, h("code", {}, text), copy);
}

export function head(title, aside, level = "h2") {
  return h("div", { class: "head" }, h(level, {}, title), aside ? h("p", {}, aside) : null);
}

export const emulatedTag = () => h("span", { class: "tag" }, "EMULATED");

// A bar of phases: lengths are seconds, the whole width is what is done and what is left.
export function bar(phases, left, height, describe) {
  const whole = phases.reduce((sum, [, , seconds]) => sum + seconds, 0) + (left ?? 0);
  const svg = s("svg", { class: "bar", viewBox: `0 0 1000 ${height}`, preserveAspectRatio: "none", "aria-hidden": describe ? null : "true",
    role: describe ? "img" : null, "aria-label": describe ?? null });
  if (!(whole > 0)) return svg;
  let at = 0;
  for (const [, texture, seconds] of phases) {
    const wide = (1000 * seconds) / whole;
    svg.append(s("rect", { class: texture, x: at.toFixed(1), y: 0.5, width: Math.max(0.5, wide).toFixed(1), height: height - 1 }));
    at += wide;
  }
  if (left > 0) svg.append(s("rect", { class: "left", x: at.toFixed(1), y: 0.5, width: (1000 - at).toFixed(1), height: height - 1 }));
  return svg;
}

export function spark(values) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const top = Math.max(...known, 0), low = Math.min(...known, 0), span = top - low || 1;
  const points = values.map((value, n) => (value === null ? null : `${(2 + (56 * n) / (values.length - 1)).toFixed(1)},${(16 - (14 * (value - low)) / span).toFixed(1)}`));
  return s("svg", { class: "spark", viewBox: "0 0 60 18", "aria-hidden": "true" }, s("polyline", { points: points.filter(Boolean).join(" ") }));
}
