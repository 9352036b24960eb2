// The list of jobs: what needs you, a picture of many, filters, and a window of rows, in groups if one likes.

import { bar, command, emulatedTag, h, mark, put, s, spark } from "./dom.js";
import { grouped, groupings, knownGrouping, makeHeading, total } from "./groups.js";
import { state } from "./live.js";
import { isTicked, slot, tick, ticked, untickAll } from "./ticks.js";

const MANY = 40; // from so many on, a cell for each
const AROUND = 8; // rows beyond the window on either side
const SINCE = [["", "all"], ["3600", "last hour"], ["86400", "last day"], ["604800", "last 7 days"]];
const ORDERS = [["", "what needs you first"], ["newest", "newest first"], ["cost", "dearest first"], ["loss", "lowest loss first"], ["name", "by name"], ["tag", "by tag"]];
const kept = { find: "", words: new Set(), since: "", order: "", group: "", folded: new Set() };

// The list that is shown has an address: #/?find=bert&status=failed&since=86400&order=cost&group=sweep&folded=bert-lr
function readAddress() {
  const [, query] = location.hash.split("?", 2);
  if (query === undefined) {
    if (kept.find || kept.since || kept.order || kept.group || kept.words.size) writeAddress(); // back from a job: as the list was
    return;
  }
  const asked = new URLSearchParams(query);
  const known = (value, words) => (words.some(([one]) => one === value) ? value : "");
  kept.find = asked.get("find") ?? "";
  kept.since = known(asked.get("since"), SINCE);
  kept.order = known(asked.get("order"), ORDERS);
  kept.words = new Set((asked.get("status") ?? "").split(",").filter(Boolean));
  kept.group = knownGrouping(asked.get("group") ?? "");
  kept.folded = new Set(kept.group ? asked.getAll("folded") : []);
}

function writeAddress() {
  const asked = { find: kept.find, status: [...kept.words].join(","), since: kept.since, order: kept.order, group: kept.group };
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
  for (const name of kept.group ? kept.folded : []) query.append("folded", name);
  history.replaceState(null, "", String(query) ? `#/?${query}` : "#/");
}

export function jobsView() {
  readAddress();
  const title = h("h1", {}, "Asking for the newest jobs");
  const below = h("p", { class: "stand" });
  const trouble = h("div", { class: "banner", role: "alert", hidden: true }, h("b"), h("p"), h("p", { class: "ink3" }));
  const needs = h("ul", { class: "needs" });
  const cells = h("div", { class: "cells", "aria-hidden": "true" });
  const cellHead = h("div", { class: "head" }, h("h2", {}, "One cell is one job"), h("p", {}, "filled from below as it proceeds; a click opens it"));
  const cellBox = h("section", { class: "cellbox", hidden: true, "aria-label": "All jobs as cells; the list below says the same" }, cellHead, cells);
  const find = h("input", { type: "search", placeholder: "Name, instance or tag", "aria-label": "Find jobs by name, instance or tag", autocomplete: "off", spellcheck: "false" });
  find.value = kept.find;
  const since = h("select", { "aria-label": "Created" }, SINCE.map(([value, words]) => h("option", { value, selected: value === kept.since }, words)));
  const sort = h("select", { "aria-label": "Order" }, ORDERS.map(([value, words]) => h("option", { value, selected: value === kept.order }, words)));
  const group = h("select", { "aria-label": "Groups" });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Statuses" });
  const sum = h("p", { class: "sum" });
  const heads = ["", "Job", "Status", "Phases", "Throughput", "Loss", "Left", "Cost"];
  const costHead = h("span", { role: "columnheader", class: "c-cost" }, "Cost", h("small", {}, "USD so far"));
  const headRow = h("div", { role: "row", class: "row heads" }, heads.slice(0, -1).map((words, n) => h("span", { role: "columnheader", class: `c-${["tick", "job", "status", "phases", "rate", "loss", "left"][n]}` }, n ? words : h("span", { class: "sr" }, "Compare"))), costHead);
  const body = h("div", { role: "rowgroup", class: "rows" });
  const table = h("div", { role: "table", "aria-label": "Jobs", class: "jobs" }, h("div", { role: "rowgroup" }, headRow), body);
  const nothing = h("div", { class: "empty", hidden: true });
  const listHead = h("div", { class: "head" }, h("h2", {}, "Jobs"), h("p", {}, ""));
  const tickWords = h("span", {});
  const compare = h("a", { class: "btn solid", href: "#/compare" }, "Compare");
  const untick = h("button", { type: "button" }, "Untick all");
  const tray = h("div", { class: "tray", hidden: true }, tickWords, compare, untick);
  const legend = h("p", { class: "legend" });

  const pool = new Map();
  // list: the jobs; lines: what the table shows of them, headings of groups among them; tops: where each line begins.
  let list = [], lines = [], tops = [0], order = new Map(), drawnNeeds = "", drawnChips = "", drawnCells = "", drawnGroups = "", scheduled = 0;

  const again = () => { order = new Map(); writeAddress(); update(); };
  find.addEventListener("input", () => { kept.find = find.value; again(); });
  since.addEventListener("change", () => { kept.since = since.value; again(); });
  sort.addEventListener("change", () => { kept.order = sort.value; again(); });
  group.addEventListener("change", () => { kept.group = group.value; kept.folded.clear(); again(); });
  untick.addEventListener("click", () => { untickAll(); update(); });
  const onScroll = () => { scheduled ||= requestAnimationFrame(() => { scheduled = 0; drawWindow(); }); };
  addEventListener("scroll", onScroll, { passive: true });
  addEventListener("resize", onScroll, { passive: true });

  // Nothing moves under the pointer or the focus.
  const still = () => order.size > 0 && (body.matches(":hover") || body.contains(document.activeElement));

  function wanted() {
    const words = kept.find.toLowerCase().split(/\s+/).filter(Boolean);
    const after = kept.since ? now() - Number(kept.since) : -Infinity;
    const found = [];
    for (const row of state.rows.values()) {
      if (kept.words.size && !kept.words.has(row.word)) continue;
      if (kept.since && (row.created ?? 0) < after) continue;
      if (words.length) {
        const text = `${row.name} ${row.machine} ${row.word} ${row.spot ? "spot" : ""} ${tagWords(row)}`.toLowerCase();
        if (!words.every((word) => text.includes(word))) continue;
      }
      found.push(row);
    }
    return found;
  }

  function sorted(found, fixed) {
    if (fixed) {
      return found.sort((a, b) => (order.get(a.name) ?? -1) - (order.get(b.name) ?? -1));
    }
    const rank = (row) => (row.ended && row.word !== "failed" ? 9 : row.word === "failed" && now() - (row.created ?? 0) > 172800 ? 9 : row.order);
    const newer = (a, b) => (b.created ?? 0) - (a.created ?? 0) || (a.name < b.name ? -1 : 1);
    const last = (row) => (row.losses.length ? row.losses.at(-1) ?? Infinity : Infinity);
    const by = {
      newest: newer,
      cost: (a, b) => (b.usd ?? -1) - (a.usd ?? -1) || newer(a, b),
      loss: (a, b) => (last(a) === last(b) ? 0 : last(a) - last(b)) || newer(a, b),
      name: (a, b) => (a.name < b.name ? -1 : 1),
      tag: (a, b) => (tagWords(a) === tagWords(b) ? newer(a, b) : (tagWords(a) || "~") < (tagWords(b) || "~") ? -1 : 1),
    }[kept.order];
    if (by) found.sort(by);
    else found.sort((a, b) => rank(a) - rank(b) || (a.ended ? 0 : (a.left_s ?? Infinity) - (b.left_s ?? Infinity) || 0) || (b.created ?? 0) - (a.created ?? 0) || (a.name < b.name ? -1 : 1));
    return found;
  }

  // The jobs in their order, and the lines that the table shows of them.
  function arrange() {
    const fixed = still();
    list = sorted(wanted(), fixed);
    lines = list;
    if (kept.group) {
      const groups = grouped(list, kept, fixed);
      list = groups.flatMap((one) => one.members);
      lines = groups.flatMap((one) => (one.folded ? [one] : [one, ...one.members]));
    }
    if (!fixed) order = new Map(list.map((row, n) => [row.name, n]));
  }

  function update() {
    const head = state.head;
    if (!head) return;
    put(title, state.ended ? "This page has ended" : head.sentence);
    put(below, state.ended ? "" : head.below);
    const ordered = kept.order ? ORDERS.find(([value]) => value === kept.order)[1] : "what needs you first, then what runs, then the newest";
    drawTrouble(head);
    drawNeeds(head);
    drawChips();
    const grouping = drawGroupings();
    put(listHead.lastChild, ordered + (kept.group ? `; in groups ${grouping}` : ""));
    arrange();
    drawCells();
    drawWindow();
    const shownSum = total(list);
    put(sum, `${list.length === state.rows.size ? "" : `${list.length} of `}${jobs(state.rows.size)}${shownSum && `, ${shownSum}`}${head.full ? `, the newest ${head.limit}` : ""}`);
    table.classList.toggle("emulated", head.emulated);
    put(costHead.firstChild, head.emulated ? "Billed" : "Cost");
    put(costHead.lastChild, head.emulated ? "of this machine" : "USD so far");
    nothing.hidden = list.length > 0;
    table.hidden = legend.hidden = list.length === 0;
    if (!list.length) drawNothing(head);
    drawLegend(head);
    drawTray();
  }

  function drawLegend(head) {
    if (legend.childElementCount) return;
    const key = (texture) => s("svg", { class: "key", viewBox: "0 0 20 10", "aria-hidden": "true" }, s("rect", { class: texture, x: 0.5, y: 0.5, width: 19, height: 9 }));
    legend.replaceChildren(...head.textures.map(([texture, words]) => h("span", {}, key(texture), words)));
  }

  // The choice of groups: tags come with the jobs. The words of the one that is chosen.
  function drawGroupings() {
    const found = groupings(state.rows.values(), kept.group);
    const key = JSON.stringify([found, kept.group]);
    if (key !== drawnGroups) {
      drawnGroups = key;
      group.replaceChildren(...found.map(([value, words]) => h("option", { value, selected: value === kept.group }, words)));
    }
    return found.find(([value]) => value === kept.group)[1];
  }

  function drawTrouble(head) {
    const words = state.ended ? "The server of this page does not answer." : head.trouble;
    trouble.hidden = !words;
    put(trouble.children[0], words);
    put(trouble.children[1], state.ended ? "Jobs go on, and may be billed. Start the page again: sm-trn ui" : words ? `What is below was seen at ${head.seen_words || "no time"}. Nothing is counted on.` : "");
    put(trouble.children[2], head.notes.at(-1) ?? "");
  }

  function drawNeeds(head) {
    const key = JSON.stringify(head.needs);
    if (key === drawnNeeds) return;
    drawnNeeds = key;
    needs.replaceChildren(...head.needs.map((one) => {
      const names = one.names.map((name, n) => [n ? ", " : "", h("a", { href: `#/job/${encodeURIComponent(name)}` }, name)]);
      const more = one.count > one.names.length ? ` and ${one.count - one.names.length} more` : "";
      return h("li", { class: one.role }, h("p", { class: "what" }, h("b", { class: one.role }, `${one.glyph} ${one.count > 1 ? `${one.count} ` : ""}${one.word}`), " ", names, more), h("p", { class: "cause" }, one.cause), command(one.command));
    }));
  }

  function drawChips() {
    const counts = new Map();
    for (const row of [...state.rows.values()].sort((a, b) => a.order - b.order)) {
      const found = counts.get(row.word) ?? { glyph: row.glyph, count: 0 };
      found.count += 1;
      counts.set(row.word, found);
    }
    for (const word of kept.words) if (!counts.has(word)) counts.set(word, { glyph: "", count: 0 });
    const key = JSON.stringify([...counts]) + [...kept.words];
    if (key === drawnChips) return;
    drawnChips = key;
    const focused = chips.contains(document.activeElement) ? document.activeElement.dataset.word : null;
    chips.replaceChildren(...[...counts].map(([word, { glyph, count }]) => h("button", { type: "button", "aria-pressed": String(kept.words.has(word)), "data-word": word, onclick: () => { kept.words.has(word) ? kept.words.delete(word) : kept.words.add(word); again(); } }, `${glyph} ${word} ${count}`)));
    if (focused !== null) [...chips.children].find((one) => one.dataset.word === focused)?.focus();
  }

  function drawCells() {
    cellBox.hidden = state.rows.size < MANY;
    if (cellBox.hidden) return;
    const key = list.map((row) => `${row.name}${row.word}${Math.round((row.share ?? 0) * 8)}`).join();
    if (key === drawnCells) return;
    drawnCells = key;
    const known = new Map([...cells.children].map((cell) => [cell.dataset.name, cell]));
    const wantedCells = list.map((row) => {
      const cell = known.get(row.name) ?? h("i", { "data-name": row.name });
      mark(cell, "class", `cell ${row.role} w-${row.word.split(" ")[0]} f${row.ended ? 8 : Math.round((row.share ?? 0) * 8)}`);
      mark(cell, "title", `${row.name}: ${row.word}`);
      return cell;
    });
    cells.replaceChildren(...wantedCells);
  }
  cells.addEventListener("click", (event) => { if (event.target.dataset.name) location.hash = `#/job/${encodeURIComponent(event.target.dataset.name)}`; });

  // Where each line begins; the last number is where all end.
  function places() {
    const phone = matchMedia("(max-width: 700px)").matches;
    const high = { row: phone ? 132 : 60, group: phone ? 78 : 48 };
    const found = [0];
    for (const line of lines) found.push(found.at(-1) + (line.members ? high.group : high.row));
    return found;
  }

  // The line at a height of the table.
  function lineAt(y) {
    let low = 0, high = lines.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (tops[middle + 1] <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function drawWindow() {
    tops = places();
    body.style.height = `${tops.at(-1)}px`;
    const top = body.getBoundingClientRect().top;
    const first = Math.max(0, lineAt(-top) - AROUND);
    const last = Math.min(lines.length, lineAt(innerHeight - top) + 1 + AROUND);
    mark(table, "aria-rowcount", lines.length + 1);
    mark(headRow, "aria-rowindex", 1);
    const shown = Array.from({ length: Math.max(0, last - first) }, (_, n) => first + n);
    const at = focusedLine();
    if (at >= 0 && at < first) shown.unshift(at);
    if (at >= last) shown.push(at);
    const wantedKeys = new Set(shown.map((n) => keyOf(lines[n])));
    for (const [name, one] of pool) if (!wantedKeys.has(name)) { one.node.remove(); pool.delete(name); }
    let next = body.firstChild;
    for (const n of shown) {
      const line = lines[n], name = keyOf(line);
      if (!pool.has(name)) pool.set(name, line.members ? makeHeading(fold) : makeRow());
      const one = pool.get(name);
      one.update(line);
      mark(one.node, "data-key", name);
      one.node.style.transform = `translateY(${tops[n]}px)`;
      mark(one.node, "aria-rowindex", n + 2);
      if (one.node === next) next = next.nextSibling;
      else body.insertBefore(one.node, next);
    }
  }

  function focusedLine() {
    const key = document.activeElement?.closest?.(".rows .row")?.dataset.key;
    return key === undefined ? -1 : lines.findIndex((line) => keyOf(line) === key);
  }

  function fold(name) {
    if (!kept.folded.delete(name)) kept.folded.add(name);
    writeAddress();
    update();
  }

  function makeRow() {
    const box = h("input", { type: "checkbox" });
    const sign = h("span", { class: "sign", "aria-hidden": "true" });
    const link = h("a", { href: "#/" });
    const spot = h("span", { class: "word" }, "spot");
    const tag = emulatedTag();
    const machine = h("span");
    const status = h("span"), under = h("small"), fold = h("small", { class: "fold" });
    const phases = h("span", { role: "cell", class: "c-phases" });
    const rate = h("span"), rates = h("span"), loss = h("span"), losses = h("span"), left = h("span");
    const cost = h("span"), billed = h("small");
    const node = h("div", { role: "row", class: "row" },
      h("span", { role: "cell", class: "c-tick" }, box, sign),
      h("span", { role: "rowheader", class: "c-job" }, h("span", { class: "name" }, link), h("small", {}, tag, spot, machine)),
      h("span", { role: "cell", class: "c-status" }, status, under, fold),
      phases,
      h("span", { role: "cell", class: "c-rate" }, rate, rates),
      h("span", { role: "cell", class: "c-loss" }, h("span", { class: "lab", "aria-hidden": "true" }, "Loss "), loss, losses),
      h("span", { role: "cell", class: "c-left" }, left),
      h("span", { role: "cell", class: "c-cost" }, h("span", { class: "lab", "aria-hidden": "true" }, "Cost "), cost, billed));
    let row = null, drawn = "";
    box.addEventListener("change", () => { tick(row.name, box.checked); update(); });
    function show(next) {
      const ticks = slot(next.name);
      const key = JSON.stringify([next, ticks, isTicked(next.name)]);
      if (key === drawn) return;
      const changed = row !== null && row.name === next.name && row.word !== next.word;
      drawn = key;
      row = next;
      mark(node, "data-name", next.name);
      box.checked = isTicked(next.name);
      mark(box, "aria-label", `Compare ${next.name}`);
      put(sign, ticks.mark);
      mark(node, "class", `row ${ticks.color}${changed ? " changed" : ""}`);
      put(link, middle(next.name));
      mark(link, "href", `#/job/${encodeURIComponent(next.name)}`);
      mark(link, "aria-label", next.name);
      mark(link, "title", next.name);
      spot.hidden = !next.spot;
      tag.hidden = !next.emulated;
      put(machine, next.emulated ? `for ${next.machine}` : next.machine);
      put(status, `${next.glyph} ${next.word}`);
      mark(status, "class", next.role);
      const share = next.share !== null && !next.ended ? `${Math.round(next.share * 100)} %` : "";
      const cut = next.interruptions ? `${next.interruptions} interruption${next.interruptions > 1 ? "s" : ""}` : "";
      put(under, next.reason && next.word === "failed" ? next.reason : [share || (has(next, "step") ? `step ${next.step}` : ""), cut].filter(Boolean).join(", "));
      mark(under, "title", next.reason || null);
      put(fold, [has(next, "rate") ? next.rate : "", has(next, "left") ? `${next.left} left` : ""].filter(Boolean).join(", "));
      phases.replaceChildren(bar(next.phases, next.left_s, 14, next.phases.map(([name, , seconds]) => `${name} ${Math.round(seconds)} s`).join(", ") || "no phase yet"));
      for (const [node, name] of [[rate, "rate"], [loss, "loss"], [left, "left"], [cost, "cost"]]) mark(node, "class", has(next, name) ? null : "ink3");
      put(rate, next.rate);
      rates.replaceChildren(...[spark(next.rates)].filter(Boolean));
      put(loss, next.loss);
      losses.replaceChildren(...[spark(next.losses)].filter(Boolean));
      put(left, next.left);
      put(cost, next.emulated ? next.billed : next.cost);
      put(billed, next.emulated ? next.cost : has(next, "billed") ? next.billed : "");
    }
    return { node, update: show };
  }

  function drawNothing(head) {
    const none = state.rows.size === 0;
    nothing.replaceChildren(...(none
      ? [h("p", {}, head.ready ? "There are no training jobs here yet. Try one on this machine, or launch a job file:" : "Asking for the newest jobs …"), ...(head.ready ? [command("sm-trn quickstart"), command(`sm-trn launch job.toml${head.options}`)] : [])]
      : [h("p", {}, "No job matches."), h("button", { type: "button", onclick: () => { kept.find = find.value = ""; kept.since = since.value = ""; kept.words.clear(); again(); } }, "Show all")]));
  }

  function drawTray() {
    const found = ticked().filter((name) => state.rows.has(name));
    tray.hidden = found.length === 0;
    put(tickWords, found.length === 1 ? "1 ticked; tick another one to compare" : `${found.length} ticked; colours and marks stay theirs`);
  }

  function key(event) {
    const row = document.activeElement?.closest?.(".rows .row");
    if (event.key === "x" && row?.dataset.name) { tick(row.dataset.name); update(); event.preventDefault(); return; }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    if (!row && !(document.activeElement === document.body || document.activeElement?.id === "main")) return;
    const at = focusedLine();
    const n = Math.min(lines.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)));
    if (!lines[n]) return;
    event.preventDefault();
    const start = scrollY + body.getBoundingClientRect().top;
    if (start + tops[n] < scrollY + 80 || start + tops[n + 1] > scrollY + innerHeight - 80) scrollTo(0, start + tops[n] - innerHeight / 2);
    drawWindow();
    pool.get(keyOf(lines[n]))?.node.querySelector("a, button").focus({ preventScroll: true });
  }

  const filters = h("div", { class: "filters" }, find, since, sort, group, chips, sum);
  return {
    nodes: [title, below, trouble, needs, cellBox, listHead, filters, nothing, table, legend, tray],
    update, key,
    leave() { removeEventListener("scroll", onScroll); removeEventListener("resize", onScroll); },
  };
}

// Whether a row has a value of this name, and not the word for why it has none.
const has = (row, name) => !row.missing.includes(name);

// What names a line of the table: a job's name has no line break.
const keyOf = (line) => (line.members ? `\n${line.name}` : line.name);

const tagWords = (row) => row.tags.map((pair) => pair.join("=")).join(" ");

// A long name without its middle: what tells the jobs of a sweep apart stands at the end.
const middle = (name) => (name.length > 48 ? `${name.slice(0, 23)}…${name.slice(-23)}` : name);

// The service's own time: this machine's clock may be another.
const now = () => state.head?.seen ?? Date.now() / 1000;

function jobs(number) {
  return number === 1 ? "1 job" : `${number.toLocaleString("en")} jobs`;
}
