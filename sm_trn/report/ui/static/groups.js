// Jobs of the list in groups, by sweep or by a tag: what a group has cost so far, its best job, and whether it is folded.

import { h, mark, put } from "./dom.js";

const TAG = "tag:"; // a grouping is "sweep", or this and the key of a tag
const OWN = "sm_trn:"; // tags of the package itself: a sweep is a grouping of its own
const KEYS = 20; // tags that are offered
const MIDDLE = 40; // letters of a name

// The groupings that the jobs offer, each with its words; the chosen one is among them before its jobs are.
export function groupings(rows, chosen) {
  const keys = new Set();
  for (const row of rows) for (const [key] of row.tags) if (!key.startsWith(OWN)) keys.add(key);
  const offered = [...keys].sort().slice(0, KEYS).map((key) => TAG + key);
  if (chosen.startsWith(TAG) && !offered.includes(chosen)) offered.push(chosen);
  return [["", "no groups"], ["sweep", "by sweep"], ...offered.map((one) => [one, `by tag ${one.slice(TAG.length)}`])];
}

export const knownGrouping = (asked) => (asked === "sweep" || (asked.startsWith(TAG) && asked !== TAG) ? asked : "");

// The groups of jobs. A group stands where its first job does; the dearest is first by cost, and names or tags are an order of
// groups too; jobs without a group come last. Nothing moves while ``fixed``.
export function grouped(rows, { group, order, folded }, fixed) {
  const key = group.slice(TAG.length);
  const nameOf = group === "sweep" ? (row) => row.sweep : (row) => row.tags.find(([one]) => one === key)?.[1] ?? "";
  const members = new Map();
  for (const row of rows) {
    const name = nameOf(row);
    if (!members.has(name)) members.set(name, []);
    members.get(name).push(row);
  }
  const groups = [...members].map(([name, jobs]) => heading(name, jobs, { word: group === "sweep" ? "sweep" : key, folded: folded.has(name) }));
  if (fixed) return groups;
  if (order === "cost") groups.sort((a, b) => b.cents - a.cents);
  if (order === "name" || order === "tag") groups.sort((a, b) => (a.name < b.name ? -1 : 1));
  return groups.sort((a, b) => (a.name === "") - (b.name === ""));
}

function heading(name, members, { word, folded }) {
  const cents = members.reduce((sum, row) => sum + Math.round((row.usd ?? 0) * 100), 0);
  return { name, words: name || `no ${word}`, members, cents, folded, cost: total(members), best: name ? best(members) : null };
}

// The best result among jobs that ended, by the measure that most of them have; the server says which way is better.
function best(members) {
  const measures = new Map();
  for (const row of members) {
    if (!row.result) continue;
    const found = measures.get(row.result.metric) ?? [];
    found.push(row);
    measures.set(row.result.metric, found);
  }
  const most = [...measures.values()].sort((a, b) => b.length - a.length)[0] ?? [];
  const sign = most[0]?.result.lowest ? 1 : -1;
  return most.reduce((first, row) => (first && sign * (first.result.value - row.result.value) <= 0 ? first : row), null);
}

// What jobs have cost, in words; empty where no cost is known.
export function total(rows) {
  const known = rows.filter((row) => row.usd !== null);
  if (!known.length) return "";
  const cents = known.reduce((all, row) => all + Math.round(row.usd * 100), 0);
  return `${known.some((row) => row.at_most) ? "at most " : ""}$${(cents / 100).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

// The row of a group: a button that folds it, how many jobs, their cost so far, and the best of them.
export function makeHeading(fold) {
  const sign = h("span", { class: "fold-sign", "aria-hidden": "true" });
  const name = h("b");
  const button = h("button", { type: "button" }, sign, name);
  const count = h("span", { class: "ink2" });
  const cost = h("span", { class: "ink2" });
  const link = h("a", { href: "#/" });
  const result = h("span", { class: "ink2" });
  const best = h("span", { class: "best" }, result, link);
  const node = h("div", { role: "row", class: "row group" }, h("span", { role: "rowheader", "aria-colspan": "8" }, button, count, cost, best));
  let shown = null;
  button.addEventListener("click", () => fold(shown.name));
  function update(next) {
    shown = next;
    put(sign, next.folded ? "▸" : "▾");
    put(name, short(next.words));
    mark(name, "title", next.words);
    mark(button, "aria-expanded", String(!next.folded));
    put(count, countWords(next.members));
    put(cost, next.cost && `${next.cost} so far`);
    best.hidden = !next.best;
    if (!next.best) return;
    put(result, `best ${next.best.result.metric} ${next.best.result.words}: `);
    put(link, short(next.best.name));
    mark(link, "title", next.best.name);
    mark(link, "href", `#/job/${encodeURIComponent(next.best.name)}`);
  }
  return { node, update };
}

function countWords(members) {
  const running = members.filter((row) => !row.ended).length;
  const failed = members.filter((row) => row.word === "failed").length;
  const parts = [running && `${running.toLocaleString("en")} running`, failed && `${failed.toLocaleString("en")} failed`].filter(Boolean);
  const number = members.length === 1 ? "1 job" : `${members.length.toLocaleString("en")} jobs`;
  return number + (parts.length ? ` (${parts.join(", ")})` : "");
}

const short = (name) => (name.length > MIDDLE ? `${name.slice(0, MIDDLE / 2 - 1)}…${name.slice(1 - MIDDLE / 2)}` : name);
