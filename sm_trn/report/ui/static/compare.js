// The report's own comparison of what is ticked, in a frame without scripts.

import { h, head, put } from "./dom.js";
import { state } from "./live.js";
import { slot, slotOf, tick, ticked, untickAll } from "./ticks.js";

export function compareView() {
  const title = h("h1", {}, "Compare");
  const below = h("p", { class: "stand" });
  const chosen = h("ul", { class: "chosen", "aria-label": "Ticked jobs" });
  const again = h("button", { type: "button" }, "Make it again");
  const clear = h("button", { type: "button" }, "Untick all");
  const wait = h("p", { class: "ink3", role: "status" });
  const place = h("div", { class: "report" });
  let drawn = "", frame = null, sizer = null;

  again.addEventListener("click", () => { drawn = ""; update(); });
  clear.addEventListener("click", () => { untickAll(); update(); });

  function update() {
    const names = ticked().filter((name) => state.rows.has(name));
    const ended = names.every((name) => state.rows.get(name).ended);
    put(title, names.length ? `${names.length} ${names.length === 1 ? "job" : "jobs"} side by side` : "Nothing is ticked");
    put(below, names.length ? (ended ? "" : "Some of them still run: the comparison shows them as they were when it was made.") : "Tick jobs in the list; their comparison is shown here.");
    again.hidden = clear.hidden = !names.length;
    const key = names.join("\n");
    if (key === drawn) return;
    drawn = key;
    chosen.replaceChildren(...names.map((name) => h("li", { class: slot(name).color }, h("span", { class: "sign", "aria-hidden": "true" }, slot(name).mark), h("a", { href: `#/job/${encodeURIComponent(name)}` }, name), h("button", { type: "button", "aria-label": `Untick ${name}`, onclick: () => { tick(name, false); update(); } }, "×"))));
    sizer?.disconnect();
    frame?.remove();
    frame = null;
    put(wait, names.length ? "Reading the logs and drawing …" : "");
    if (!names.length) return;
    frame = h("iframe", { title: "Comparison of the ticked jobs", sandbox: "allow-same-origin" });
    frame.addEventListener("load", fit);
    frame.src = `/comparison?${new URLSearchParams(names.flatMap((name) => [["job", name], ["slot", slotOf(name)]]))}`;
    place.replaceChildren(frame);
  }

  function fit() {
    put(wait, "");
    const inside = frame?.contentDocument;
    if (!inside?.body) return;
    const measure = () => { if (frame) frame.style.height = `${Math.ceil(inside.documentElement.getBoundingClientRect().height) + 4}px`; };
    sizer = new ResizeObserver(measure);
    sizer.observe(inside.body);
    measure();
  }

  return { nodes: [title, below, h("div", { class: "filters" }, chosen, again, clear), wait, place], update, leave() { sizer?.disconnect(); } };
}
