// One job: what it does, its phases, its curves, its metrics and arguments, its log, and what to type next.

import { bar, command, emulatedTag, h, head, mark, put, s } from "./dom.js";
import { lineChart, number } from "./chart.js";
import { logView } from "./log.js";
import { post, state } from "./live.js";
import { isTicked, tick } from "./ticks.js";

const QUIET = new Set(["epoch", "train_runtime"]); // known of every line, or once: no curve
const FIRST = ["loss", "steps_per_second", "samples_per_second", "eval_loss", "eval_accuracy"];
const MOST = 12;

export function jobView(name) {
  const title = h("h1", {}, name);
  const status = h("span"), machine = h("span"), tag = emulatedTag(), spot = h("span", { class: "word" }, "spot");
  const under = h("p", { class: "stand" }, tag, status, " ", machine, " ", spot);
  const wait = h("p", { class: "ink3", role: "status" }, "Reading the log …");
  const box = h("input", { type: "checkbox", "aria-label": `Compare ${name}` });
  box.checked = isTicked(name);
  box.addEventListener("change", () => tick(name, box.checked));
  const crumb = h("p", { class: "crumb" }, h("a", { href: "#/" }, "Jobs"), " / ", h("span", {}, name), h("label", {}, box, " compare"));
  const why = h("section", { class: "why", hidden: true, "aria-label": "Why it failed" }, h("h2", {}, "Why it failed"), h("pre"), h("p"), h("p", { class: "ink2" }));
  const facts = h("dl", { class: "facts" });
  const phaseHead = head("Phases", ""), phaseBar = h("div", { class: "phasebar" }), phaseWords = h("p", { class: "over" });
  const axisToggle = h("div", { class: "seg", role: "group", "aria-label": "Axis of the curves" });
  const curveHead = h("div", { class: "head" }, h("h2", {}, "Curves"), axisToggle);
  const charts = h("div", { class: "two" });
  const noCurves = h("p", { class: "ink3" }, "The log has shown no numbers yet.");
  const log = logView(name);
  const metrics = h("tbody"), metricBox = h("div", { class: "scroll", role: "region", "aria-label": "Metrics", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, ["Metric", "Newest", "Lowest", "Highest", "At step"].map((words) => h("th", { scope: "col" }, words)))), metrics));
  const args = h("dl", { class: "pairs" }), about = h("dl", { class: "pairs" });
  const next = h("div", { class: "next" });
  const stop = h("div", { class: "stop", hidden: true });
  const figures = new Map();
  let axis = "steps", drawn = {};

  for (const [value, words] of [["steps", "step"], ["minutes", "minutes since submit"]]) {
    axisToggle.append(h("button", { type: "button", "aria-pressed": String(value === axis), onclick: (event) => {
      axis = value;
      for (const one of axisToggle.children) one.setAttribute("aria-pressed", String(one === event.target));
      drawCurves();
    } }, words));
  }

  function once(part, value, draw) {
    const key = JSON.stringify(value);
    if (drawn[part] === key) return;
    drawn[part] = key;
    draw(value);
  }

  function update() {
    const row = state.rows.get(name), detail = state.detail?.name === name ? state.detail : null;
    if (!row) {
      put(title, `${name} is not shown here`);
      put(wait, `The page shows the newest ${state.head?.limit ?? ""} jobs. In a terminal: sm-trn list ${name}`);
      return;
    }
    put(status, `${row.glyph} ${row.word}`);
    mark(status, "class", row.role);
    tag.hidden = !row.emulated;
    spot.hidden = !row.spot;
    put(machine, row.emulated ? `on this machine, for ${row.machine}` : `on ${row.machine}`);
    if (!detail) return;
    put(title, detail.sentence);
    wait.hidden = detail.ready && !detail.problem;
    put(wait, detail.problem || "Reading the log …");
    why.hidden = !(row.word === "failed");
    put(why.children[1], detail.exception || detail.reason || "AWS gave no reason.");
    put(why.children[2], detail.cause ? `Cause: ${detail.cause}` : "");
    put(why.children[3], detail.exception ? detail.reason : "");
    once("facts", detail.facts, (found) => facts.replaceChildren(...found.map(([what, value, beside]) => h("div", {}, h("dt", {}, what), h("dd", {}, value, beside ? h("small", {}, ` ${beside}`) : null)))));
    once("phases", [detail.phases, detail.left_s], ([phases, left]) => phaseBar.replaceChildren(bar(phases, left, 26, detail.phase_words.join(", ") || "no phase yet")));
    put(phaseWords, detail.phase_words.join(", "));
    put(phaseHead.lastChild.tagName === "P" ? phaseHead.lastChild : phaseHead.appendChild(h("p")), [detail.billed, detail.limit].filter(Boolean).join("; "));
    drawCurves();
    once("metrics", detail.metrics, (found) => metrics.replaceChildren(...found.map((cells) => h("tr", {}, cells.map((cell, n) => h(n ? "td" : "th", n ? {} : { scope: "row" }, cell))))));
    metricBox.hidden = metricHead.hidden = !detail.metrics.length;
    once("args", detail.arguments, (found) => pairs(args, found, "The job was given no hyperparameters."));
    once("about", detail.about, (found) => pairs(about, found, ""));
    once("next", detail.next, (found) => next.replaceChildren(...found.map(([words, text]) => h("div", {}, h("p", {}, words), command(text)))));
    drawStop(row);
    log.update(detail.log, detail.ready);
  }

  function drawCurves() {
    const detail = state.detail?.name === name ? state.detail : null, row = state.rows.get(name);
    if (!detail || !row) return;
    const place = (one) => { const found = FIRST.indexOf(one.name); return found < 0 ? FIRST.length : found; };
    const shown = detail.series.filter((one) => !QUIET.has(one.name) && one.values.length > 1).sort((a, b) => place(a) - place(b)).slice(0, MOST);
    noCurves.hidden = shown.length > 0 || !detail.ready;
    axisToggle.hidden = shown.length === 0;
    for (const one of shown) {
      let chart = figures.get(one.name);
      if (!chart) {
        chart = lineChart(one.name, "");
        figures.set(one.name, chart);
        charts.append(chart.node);
      }
      const steps = axis === "steps" && one.steps.some((value) => value !== null);
      const rate = one.unit !== "";
      const many = one.values.length >= 60 ? "Faint: as logged; line: mean of 5 to the left and right" : "As logged";
      chart.update(
        { x: steps ? one.steps : one.minutes, lines: [{ name: one.name, y: one.values }], axis: steps ? "step" : "minutes since submit", what: steps ? "Step" : "Minute", unit: one.unit, zero: rate, broken: one.broken },
        { title: rate ? "Throughput" : trend(one), note: rate && row.emulated ? `${one.unit} of this machine, EMULATED: not the speed of ${row.instance}` : rate ? `${one.unit}. ${many}` : many },
      );
    }
    const order = shown.map((one) => figures.get(one.name).node);
    if (order.some((node, n) => charts.children[n] !== node)) charts.append(...order);
  }

  function drawStop(row) {
    const may = state.head.allow_stop && !row.ended && row.word !== "stopping";
    stop.hidden = !may;
    if (!may) { stop.replaceChildren(); return; }
    if (stop.children.length) return;
    const typed = h("input", { type: "text", id: "confirm", autocomplete: "off", spellcheck: "false" });
    const button = h("button", { type: "button", disabled: true }, "Stop this job");
    const said = h("p", { role: "status" });
    typed.addEventListener("input", () => { button.disabled = typed.value !== name; });
    button.addEventListener("click", async () => {
      button.disabled = true;
      put(said, "Asking …");
      try {
        const answer = await post("/api/stop", { job: name, confirm: typed.value });
        put(said, answer.asked ? "The job was asked to stop. Its script may save first." : "The job had ended, or was being stopped already.");
      } catch (error) {
        put(said, error.message);
      }
    });
    stop.replaceChildren(h("label", { for: "confirm" }, `To stop it, type ${name}`), h("div", { class: "row-of" }, typed, button), said);
  }

  const metricHead = head("Metrics", "of the whole log");
  return {
    nodes: [crumb, title, under, wait, why, facts, phaseHead, phaseWords, phaseBar, curveHead, noCurves, charts, ...log.nodes, metricHead, metricBox,
      h("div", { class: "two" }, h("section", {}, head("Arguments", "hyperparameters"), args), h("section", {}, head("About", ""), about)),
      head("Next", ""), next, stop],
    update,
    leave() { log.leave(); },
  };
}

// What a curve says in words, by the means of its first and last fifth.
function trend({ name, values }) {
  const known = values.filter((value) => value !== null), few = Math.max(1, Math.floor(known.length / 5));
  const mean = (part) => part.reduce((sum, value) => sum + value, 0) / part.length;
  if (known.length < 4) return name;
  const [from, to] = [mean(known.slice(0, few)), mean(known.slice(-few))].map((value) => Number(value.toPrecision(3)));
  return from === to ? name : `${name} ${to < from ? "fell" : "rose"} from ${number(from)} to ${number(to)}`;
}

function pairs(list, found, nothing) {
  list.replaceChildren(...(found.length ? found.map(([what, value]) => h("div", {}, h("dt", {}, what), h("dd", {}, value))) : nothing ? [h("div", {}, h("dd", { class: "ink3" }, nothing))] : []));
}
