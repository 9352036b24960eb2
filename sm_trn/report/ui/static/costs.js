// What the jobs cost, by day and by what they share. Every bar has its number, and all of them a table.

import { emulatedTag, h, head, put, s } from "./dom.js";
import { number, ticks } from "./chart.js";
import { ask, state } from "./live.js";

const PARTS = [["done", "completed"], ["stopped", "stopped"], ["failed", "failed"], ["saved", "saved by spot, not paid"]];
const EVERY_MS = 5000;

export function costsView() {
  const title = h("h1", {}, "Costs"), below = h("ul", { class: "said" });
  const days = h("div", { class: "days" }), daysNote = h("p", { class: "ink3" }), daysTable = h("tbody");
  const groups = h("div", { class: "two" });
  const legend = h("p", { class: "legend" });
  const problem = h("p", { class: "err", hidden: true, role: "alert" });
  const table = h("details", {}, h("summary", {}, "Numbers"), h("div", { class: "scroll", role: "region", "aria-label": "Days", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, ["Day", "Jobs", "Sum", "Failed", "Stopped"].map((words) => h("th", { scope: "col" }, words)))), daysTable)));
  let askedAt = -Infinity, version = -1, drawn = "", data = null;

  async function update() {
    if (state.version === version || performance.now() - askedAt < EVERY_MS) return;
    [askedAt, version] = [performance.now(), state.version];
    try {
      data = await ask("/api/costs");
      problem.hidden = true;
      const key = JSON.stringify(data);
      if (key !== drawn) { drawn = key; draw(); }
    } catch (error) {
      put(problem, error.message);
      problem.hidden = false;
    }
  }

  function amount(value) {
    return data.emulated ? `${Math.round(value).toLocaleString("en")} s` : `$${value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  }

  function draw() {
    put(title, data.title);
    below.replaceChildren(...data.findings.map((words) => h("li", {}, words)));
    put(daysNote, `${data.unit}, by the UTC day on which a job was created`);
    const used = PARTS.filter(([part]) => data.days.some((day) => day[part] > 0));
    legend.replaceChildren(data.emulated ? emulatedTag() : "", ...used.map(([part, words]) => h("span", {}, s("svg", { class: "key", viewBox: "0 0 20 10", "aria-hidden": "true" }, s("rect", { class: part, x: 0.5, y: 0.5, width: 19, height: 9 })), words)));
    days.replaceChildren(data.days.length ? dayBars() : h("p", { class: "ink3" }, "No job was billed yet."));
    daysTable.replaceChildren(...data.days.map((day) => h("tr", {}, h("th", { scope: "row" }, day.day), h("td", {}, String(day.jobs)), h("td", {}, day.words), h("td", {}, amount(day.failed)), h("td", {}, amount(day.stopped)))));
    table.hidden = !data.days.length;
    groups.replaceChildren(...data.by.filter((one) => one.groups.length).map(groupBars));
  }

  function dayBars() {
    const wide = Math.max(300, days.clientWidth || 900), high = 220, left = 60, bottom = 26, top = 8;
    const most = Math.max(...data.days.map((day) => day.done + day.stopped + day.failed + day.saved), 1e-9);
    const marks = ticks(0, most), up = (value) => high - bottom - ((high - top - bottom) * value) / marks.at(-1);
    const each = (wide - left) / Math.max(data.days.length, 7), label = Math.max(1, Math.ceil(52 / each));
    const svg = s("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `${data.unit} by day: ${data.days.map((day) => `${day.day} ${day.words}`).join(", ")}` });
    for (const y of marks) svg.append(s("path", { class: "grid", d: `M${left} ${up(y)}H${wide}` }), s("text", { x: left - 8, y: up(y) + 4, "text-anchor": "end" }, `${data.emulated ? "" : "$"}${number(y)}`));
    data.days.forEach((day, n) => {
      let at = 0;
      for (const [part] of PARTS) {
        if (!(day[part] > 0)) continue;
        svg.append(s("rect", { class: part, x: (left + each * n + each * 0.12).toFixed(1), width: (each * 0.76).toFixed(1), y: up(at + day[part]).toFixed(1), height: Math.max(0.5, up(at) - up(at + day[part])).toFixed(1) }, s("title", {}, `${day.day}: ${amount(day[part])} ${part}`)));
        at += day[part];
      }
      if (n % label === 0) svg.append(s("text", { x: (left + each * (n + 0.5)).toFixed(1), y: high - 8, "text-anchor": "middle" }, day.day.slice(5)));
    });
    svg.append(s("path", { class: "axis", d: `M${left} ${high - bottom}H${wide}` }));
    return svg;
  }

  function groupBars({ title: words, groups: found }) {
    const most = Math.max(...found.map((one) => one.done + one.stopped + one.failed + one.saved), 1e-9);
    const list = found.map((one) => {
      const svg = s("svg", { class: "bar", viewBox: "0 0 1000 14", preserveAspectRatio: "none", "aria-hidden": "true" });
      let at = 0;
      for (const [part] of PARTS) {
        const length = (1000 * one[part]) / most;
        if (length > 0) svg.append(s("rect", { class: part, x: at.toFixed(1), y: 0.5, width: length.toFixed(1), height: 13 }));
        at += length;
      }
      return h("li", {}, h("p", {}, h("b", {}, one.name), ` ${one.jobs} ${one.jobs === 1 ? "job" : "jobs"}`, h("span", {}, one.words)), svg);
    });
    return h("section", {}, h("h3", {}, words), h("ul", { class: "groups" }, list));
  }

  const resize = () => { if (data) draw(); };
  addEventListener("resize", resize);
  const timer = setInterval(() => { if (!document.hidden) update(); }, EVERY_MS);
  return {
    nodes: [title, below, problem, h("div", { class: "head" }, h("h2", {}, "Day by day"), daysNote), days, legend, table, head("What it went to", ""), groups],
    update,
    leave() { removeEventListener("resize", resize); clearInterval(timer); },
  };
}
