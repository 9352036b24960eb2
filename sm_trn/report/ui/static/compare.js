// The report's own comparison of what is ticked, in a frame without scripts.

import { h, head, put } from "./dom.js";
import { state } from "./live.js";
import { slot, slotOf, tick, ticked, tickOnly, untickAll } from "./ticks.js";

// A comparison has an address: #/compare?job=bert-1&job=bert-2
function readAddress() {
  const [, query] = location.hash.split("?", 2);
  const asked = new URLSearchParams(query).getAll("job");
  if (asked.length) tickOnly(asked);
}

function writeAddress() {
  const query = new URLSearchParams(ticked().map((name) => ["job", name]));
  history.replaceState(null, "", String(query) ? `#/compare?${query}` : "#/compare");
}

export function compareView() {
  readAddress();
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
    writeAddress();
    const names = ticked().filter((name) => state.rows.has(name));
    const absent = ticked().filter((name) => !state.rows.has(name));
    const ended = names.every((name) => state.rows.get(name).ended);
    put(title, names.length ? `${names.length} ${names.length === 1 ? "job" : "jobs"} side by side` : "Nothing is ticked");
    const said = names.length || absent.length ? [] : ["Tick jobs in the list; their comparison is shown here."];
    if (!ended) said.push("Some of them still run: the comparison shows them as they were when it was made.");
    if (absent.length) said.push(`${absent.join(", ")} ${absent.length === 1 ? "is" : "are"} not among the jobs of this page.`);
    put(below, said.join(" "));
    again.hidden = !names.length;
    clear.hidden = !ticked().length;
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
