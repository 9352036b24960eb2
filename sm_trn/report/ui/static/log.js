// The end of a job's log: found by the server, shown as text, followed while it grows.

import { h, put } from "./dom.js";
import { ask, state } from "./live.js";

const MOST = 1200; // lines in the page at a time

export function logView(name) {
  const host = h("select", { "aria-label": "Host" }, h("option", { value: "" }, "all hosts"));
  const rank = h("select", { "aria-label": "Rank" }, h("option", { value: "" }, "all ranks"));
  const find = h("input", { type: "search", placeholder: "Text, or /expression/", "aria-label": "Search the log: a text, or an expression between slashes", autocomplete: "off", spellcheck: "false" });
  const script = h("input", { type: "checkbox" });
  const follow = h("button", { type: "button", "aria-pressed": "true" }, "Follow");
  const toError = h("button", { type: "button", hidden: true }, "First error");
  const sum = h("p", { class: "sum" });
  const problem = h("p", { class: "err", role: "alert", hidden: true });
  const earlier = h("button", { type: "button", class: "earlier", hidden: true }, "Earlier lines");
  const lines = h("ol");
  const box = h("div", { class: "log", tabindex: "0", role: "region", "aria-label": "Log lines" }, earlier, lines);
  let known = { end: -1 }, shownTo = -1, first = 0, asking = false, again = false, timer = 0, following = true, ready = false, hosts = "", ranks = "", jumped = false;

  const asked = () => new URLSearchParams({ job: name, host: host.value, rank: rank.value, find: find.value, script: script.checked ? "1" : "0" });
  const reset = () => { shownTo = -1; clearTimeout(timer); timer = setTimeout(load, 120); };
  for (const one of [host, rank, script]) one.addEventListener("change", reset);
  find.addEventListener("input", reset);
  follow.addEventListener("click", () => setFollow(!following));
  box.addEventListener("wheel", () => setTimeout(() => setFollow(atEnd()), 60), { passive: true });
  earlier.addEventListener("click", loadEarlier);
  toError.addEventListener("click", jump);

  function setFollow(on) {
    following = on;
    follow.setAttribute("aria-pressed", String(on));
    if (on) box.scrollTop = box.scrollHeight;
  }

  const atEnd = () => box.scrollTop + box.clientHeight >= box.scrollHeight - 24;

  async function load() {
    if (!ready) return;
    if (asking) { again = true; return; }
    asking = true;
    again = false;
    const fresh = shownTo < 0, query = asked();
    if (!fresh) query.set("after", String(shownTo));
    try {
      const found = await ask(`/api/log?${query}`);
      problem.hidden = true;
      if (fresh) lines.replaceChildren();
      lines.append(...found.lines.map(line));
      while (lines.children.length > MOST) lines.firstChild.remove();
      first = Number(lines.firstChild?.dataset.n ?? found.end);
      const last = found.lines.at(-1)?.[0];
      const more = !fresh && found.lines.length > 0 && last + 1 < found.end && found.lines.length >= 400;
      shownTo = more ? last + 1 : found.end;
      again ||= more;
      describe(found);
      if (following) box.scrollTop = box.scrollHeight;
    } catch (error) {
      put(problem, error.message);
      problem.hidden = false;
    }
    asking = false;
    if (again) load();
  }

  async function loadEarlier() {
    const query = asked();
    query.set("before", String(first));
    try {
      const found = await ask(`/api/log?${query}`), high = box.scrollHeight;
      setFollow(false);
      lines.prepend(...found.lines.map(line));
      first = found.lines[0]?.[0] ?? found.first;
      box.scrollTop += box.scrollHeight - high;
      earlier.hidden = found.lines.length < 400;
    } catch (error) {
      put(problem, error.message);
      problem.hidden = false;
    }
  }

  async function jump() {
    setFollow(false);
    const query = asked();
    query.set("after", String(Math.max(0, known.bad - 8)));
    const found = await ask(`/api/log?${query}`).catch(() => null);
    if (!found?.lines.length) return;
    lines.replaceChildren(...found.lines.map(line));
    first = found.lines[0][0];
    shownTo = found.lines.at(-1)[0] + 1;
    earlier.hidden = first <= found.first;
    const bad = lines.querySelector(".bad");
    if (bad) box.scrollTop = bad.offsetTop - lines.offsetTop - 60;
  }

  function describe(found) {
    const matching = find.value || host.value || rank.value || script.checked ? `${found.matching.toLocaleString("en")} match of ` : "";
    const gone = found.first > 0 ? `, the newest ${found.kept.toLocaleString("en")} are kept here; all: sm-trn logs ${name}` : "";
    put(sum, `${matching}${found.end.toLocaleString("en")} lines${gone}`);
    earlier.hidden = !lines.children.length || found.matching <= lines.children.length;
  }

  function line([number, time, where, of, text, bad]) {
    const when = time === null ? "" : new Date(time * 1000).toISOString().slice(11, 19);
    return h("li", { class: bad ? "bad" : null, "data-n": number }, h("span", { class: "when" }, when), h("span", { class: "where" }, of === null ? where : `${where} r${of}`), h("code", {}, text));
  }

  function options(select, values, words) {
    const chosen = select.value;
    select.replaceChildren(h("option", { value: "" }, words), ...values.map((value) => h("option", { value }, String(value))));
    select.value = chosen;
  }

  return {
    nodes: [h("div", { class: "head" }, h("h2", {}, "Log"), h("p", {}, "times are UTC")), h("div", { class: "filters" }, find, host, rank, h("label", {}, script, " only the script"), follow, toError, sum), problem, box],
    update(log, isReady) {
      if (hosts !== log.hosts.join()) { hosts = log.hosts.join(); options(host, log.hosts, "all hosts"); }
      if (ranks !== log.ranks.join()) { ranks = log.ranks.join(); options(rank, log.ranks, "all ranks"); rank.hidden = !log.ranks.length; }
      toError.hidden = log.bad === null;
      const grown = log.end !== known.end || isReady !== ready;
      known = log;
      ready = isReady;
      if (!ready || !grown) return;
      if (log.bad !== null && !jumped && state.rows.get(name)?.word === "failed") { jumped = true; shownTo = log.end; describeLater(); jump(); return; }
      load();
    },
    leave() { clearTimeout(timer); },
  };

  async function describeLater() {
    const found = await ask(`/api/log?${asked()}`).catch(() => null);
    if (found) describe(found);
  }
}
