// A line figure that updates: raw points, a centred mean where there are many, an axis from round numbers, a cursor for keys.

import { h, put, s } from "./dom.js";

const MEAN = 5; // points to the left and to the right
const SMOOTH_FROM = 60;
const HIGH = 220, TOP = 10, BOTTOM = 34, LEFT = 52, RIGHT = 14;

export function lineChart(title, note) {
  const heading = h("h3", {}, title), under = h("p", {}, note);
  const reading = h("p", { class: "read" });
  const drawn = h("div", { class: "chart", role: "slider", tabindex: "0", "aria-label": title, "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0" });
  const figure = h("figure", {}, h("figcaption", {}, heading, under), drawn, reading);
  let data = null, at = null, key = "";

  function draw() {
    const wide = Math.max(260, drawn.clientWidth || 480);
    const now = JSON.stringify([data.x.length, data.x.at(-1), data.lines.map((line) => line.y.at(-1)), wide, at, data.axis, data.broken]);
    if (now === key) return;
    key = now;
    const finite = (value) => value !== null && value !== undefined;
    const xs = data.x.filter(finite), ys = data.lines.flatMap((line) => line.y.filter(finite));
    if (!xs.length || !ys.length) {
      drawn.replaceChildren(h("p", { class: "ink3" }, "No numbers yet"));
      return;
    }
    const [x0, x1] = [Math.min(data.zeroX ? 0 : Infinity, ...xs), Math.max(...xs)];
    const yTicks = ticks(data.zero ? 0 : Math.min(...ys), Math.max(...ys)), xTicks = ticks(x0, x1, Math.max(2, Math.floor(wide / 110)));
    const [low, high] = [Math.min(yTicks[0], ...ys), Math.max(yTicks.at(-1), ...ys)];
    const px = (x) => LEFT + ((wide - LEFT - RIGHT) * (x - x0)) / (x1 - x0 || 1);
    const py = (y) => HIGH - BOTTOM - ((HIGH - TOP - BOTTOM) * (y - low)) / (high - low || 1);
    const svg = s("svg", { viewBox: `0 0 ${wide} ${HIGH}`, "aria-hidden": "true", focusable: "false" });
    for (const y of yTicks) svg.append(s("path", { class: "grid", d: `M${LEFT} ${py(y)}H${wide - RIGHT}` }), s("text", { x: LEFT - 8, y: py(y) + 4, "text-anchor": "end" }, number(y)));
    for (const x of xTicks.filter((x) => x >= x0 && x <= x1)) svg.append(s("text", { x: px(x), y: HIGH - BOTTOM + 16, "text-anchor": px(x) > wide - 60 ? "end" : "middle" }, number(x)));
    svg.append(s("path", { class: "axis", d: `M${LEFT} ${HIGH - BOTTOM}H${wide - RIGHT}` }), s("text", { x: wide - RIGHT, y: HIGH - 2, "text-anchor": "end" }, data.axis));
    data.lines.forEach((line, n) => {
      const many = line.y.filter(finite).length >= SMOOTH_FROM;
      if (many) svg.append(s("path", { class: `raw l${n}`, d: path(data.x, line.y, px, py) }));
      svg.append(s("path", { class: `line l${n}`, d: path(data.x, many ? mean(line.y) : line.y, px, py) }));
      const last = line.y.findLastIndex((y, place) => finite(y) && finite(data.x[place]));
      if (last >= 0) svg.append(s("circle", { class: `end l${n}`, cx: px(data.x[last]), cy: py(line.y[last]), r: 3.5 }));
      if (data.lines.length > 1 && last >= 0) svg.append(s("text", { class: "n", x: Math.min(px(data.x[last]), wide - RIGHT), y: Math.max(TOP + 10, py(line.y[last]) - 8), "text-anchor": "end" }, line.name));
    });
    if (at !== null && finite(data.x[at])) svg.append(s("path", { class: "cursor", d: `M${px(data.x[at])} ${TOP}V${HIGH - BOTTOM}` }));
    drawn.replaceChildren(svg);
    drawn.dataset.x0 = x0; drawn.dataset.x1 = x1;
    read();
  }

  function read() {
    const last = data.x.length - 1, place = at ?? last;
    const words = data.lines.filter((line) => line.y[place] !== null).map((line) => `${data.lines.length > 1 ? `${line.name} ` : ""}${number(line.y[place])}${data.unit ? ` ${data.unit}` : ""}`).join(", ");
    const said = `${data.what} ${data.x[place] === null ? "–" : number(data.x[place])}: ${words || "no number"}${data.broken ? `. ${data.broken}` : ""}`;
    put(reading, said);
    drawn.setAttribute("aria-valuetext", said);
    drawn.setAttribute("aria-valuemax", String(last));
    drawn.setAttribute("aria-valuenow", String(place));
  }

  drawn.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -1e9, End: 1e9 }[event.key];
    if (!step || !data) return;
    event.preventDefault();
    event.stopPropagation();
    at = Math.max(0, Math.min(data.x.length - 1, (at ?? data.x.length - 1) + step));
    draw();
  });
  drawn.addEventListener("blur", () => { at = null; if (data) draw(); });
  drawn.addEventListener("pointermove", (event) => {
    if (!data?.x.length) return;
    const box = drawn.getBoundingClientRect(), x0 = Number(drawn.dataset.x0), x1 = Number(drawn.dataset.x1);
    const x = x0 + ((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT)) * (x1 - x0);
    at = data.x.reduce((best, value, place) => (value !== null && Math.abs(value - x) < Math.abs((data.x[best] ?? Infinity) - x) ? place : best), 0);
    draw();
  });
  drawn.addEventListener("pointerleave", () => { if (document.activeElement !== drawn) { at = null; if (data) draw(); } });
  new ResizeObserver(() => { if (data) draw(); }).observe(drawn);

  return {
    node: figure,
    // data: {x, lines: [{name, y}], axis, what, unit, zero, broken}
    update(next, words) {
      data = next;
      if (at !== null && at >= data.x.length) at = null;
      if (words?.title) { put(heading, words.title); drawn.setAttribute("aria-label", words.title); }
      if (words?.note !== undefined) put(under, words.note);
      draw();
    },
  };
}

function path(xs, ys, px, py) {
  let d = "", pen = "M";
  for (let n = 0; n < ys.length; n += 1) {
    if (ys[n] === null || xs[n] === null) { pen = "M"; continue; }
    d += `${pen}${px(xs[n]).toFixed(1)} ${py(ys[n]).toFixed(1)}`;
    pen = "L";
  }
  return d;
}

function mean(values) {
  return values.map((value, n) => {
    if (value === null) return null;
    const near = values.slice(Math.max(0, n - MEAN), n + MEAN + 1).filter((one) => one !== null);
    return near.reduce((sum, one) => sum + one, 0) / near.length;
  });
}

export function ticks(low, high, most = 5) {
  if (low === high) { low -= Math.abs(low) * 0.1 || 0.5; high += Math.abs(high) * 0.1 || 0.5; }
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
  const found = [];
  for (let n = Math.floor(low / step); n * step < high + step * 0.999 && found.length < 20; n += 1) found.push(Number((n * step).toPrecision(12)));
  return found;
}

export function number(value) {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size < 0.001) return value.toExponential(2).replace(/\.?0+e/, "e");
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}
