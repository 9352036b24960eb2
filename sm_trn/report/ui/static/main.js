// The frame of the page: which view is shown, the head, the keys, and one sentence for ears.

import { h, put } from "./dom.js";
import { onChange, open, start, state } from "./live.js";
import { ticked } from "./ticks.js";
import { jobsView } from "./jobs.js";
import { jobView } from "./job.js";
import { compareView } from "./compare.js";
import { costsView } from "./costs.js";

const main = document.getElementById("main");
const VIEWS = { "": jobsView, job: jobView, compare: compareView, costs: costsView };
let view = null, shown = null, frame = 0, saidAt = -Infinity, waiting = [], waitingTimer = 0;

function place() {
  const [, name = "", ...rest] = location.hash.split("?")[0].split("/");
  return { name: Object.hasOwn(VIEWS, name) ? name : "", rest: decoded(rest.join("/")) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function route() {
  if (!location.hash.startsWith("#/") && location.hash) return; // the skip link
  const { name, rest } = place();
  open(name === "job" ? rest : "");
  const key = name === "" || name === "compare" ? location.hash : `${name}/${rest}`; // these keep their state in the address
  if (shown !== key) {
    view?.leave?.();
    view = VIEWS[name](rest);
    main.replaceChildren(...view.nodes);
    if (shown !== null) {
      main.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    shown = key;
  }
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.dataset.view === (name === "" || name === "job" ? "jobs" : name);
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  draw();
}

function draw() {
  frame = 0;
  frameHead();
  if (state.head && view) view.update();
}

export function later() {
  frame ||= requestAnimationFrame(draw);
}

function frameHead() {
  const head = state.head;
  if (!head) return;
  const bad = state.ended || head.trouble;
  document.body.classList.toggle("stale", Boolean(bad));
  const words = [head.where, head.seen_words ? `seen ${head.seen_words}` : "not seen yet", head.allow_stop ? "may stop jobs" : "read-only"];
  const seen = document.getElementById("seen");
  seen.replaceChildren(h("span", { class: bad ? "err" : "ok", "aria-hidden": "true" }, bad ? "✗ " : "● "), words.join(", "));
  const asked = head.emulated ? "requests to the emulator" : "AWS requests";
  put(document.getElementById("foot"), `sm_trn ${state.page?.version ?? ""}. Served to this machine only. ${head.calls.toLocaleString("en")} ${asked} in the last 10 minutes, for all open tabs together. Press ? for keys.`);
  document.title = state.ended ? "✗ ended – sm_trn live" : `${head.sentence} – sm_trn`;
}

// At most one sentence in ten seconds.
function say(changed) {
  waiting.push(...changed.map((row) => `${row.name} is ${row.word}`));
  if (!waiting.length || waitingTimer) return;
  waitingTimer = setTimeout(() => {
    const more = waiting.length > 3 ? `, and ${waiting.length - 3} more` : "";
    put(document.getElementById("said"), waiting.slice(0, 3).join(", ") + more);
    [waiting, waitingTimer, saidAt] = [[], 0, performance.now()];
  }, Math.max(0, 10000 - (performance.now() - saidAt)));
}

const words = new Map();
onChange((changed) => {
  say(changed.filter((row) => words.has(row.name) && words.get(row.name) !== row.word));
  for (const row of state.rows.values()) words.set(row.name, row.word);
  later();
});

addEventListener("hashchange", route);
addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input:not([type=checkbox]), select, textarea, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const dialog = document.getElementById("keys");
  const does = {
    "/": () => document.querySelector("input[type=search]")?.focus(),
    "?": () => dialog.showModal(),
    c: () => { if (ticked().length) location.hash = "#/compare"; },
    j: () => { location.hash = "#/"; },
    s: () => { location.hash = "#/costs"; },
  }[event.key];
  if (does) {
    event.preventDefault();
    does();
  } else view?.key?.(event);
});
document.getElementById("keys-close").addEventListener("click", () => document.getElementById("keys").close());

route();
start().catch((error) => {
  main.replaceChildren(h("h1", {}, "This page cannot be shown"), h("p", {}, String(error.message ?? error)));
});
