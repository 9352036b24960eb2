// What the server says, as it says it: one stream for this tab, none while the tab is hidden.

export const state = { rows: new Map(), head: null, detail: null, page: null, ended: false, version: 0 };

const listeners = new Set();
let source = null, opened = "", timer = 0;

export function onChange(listener) {
  listeners.add(listener);
}

function tell(changed) {
  for (const listener of listeners) listener(changed);
}

export async function start() {
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : connect()));
  if (!document.hidden) connect();
  state.page = await ask("/api/page");
  tell([]);
}

export async function ask(address, options) {
  const answer = await fetch(address, { credentials: "same-origin", ...options });
  const body = await answer.json().catch(() => ({ error: `The server answered ${answer.status}.` }));
  if (!answer.ok) throw new Error(body.error ?? `The server answered ${answer.status}.`);
  return body;
}

export function post(address, body) {
  return ask(address, { method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": state.page.csrf }, body: JSON.stringify(body) });
}

// Which job this tab looks at; empty for none.
export function open(name) {
  if (name === opened) return;
  opened = name;
  state.detail = null;
  if (!document.hidden) connect();
}

function close() {
  source?.close();
  source = null;
  clearTimeout(timer);
}

function connect() {
  close();
  source = new EventSource(`/api/live${opened ? `?job=${encodeURIComponent(opened)}` : ""}`);
  source.onmessage = (event) => hear(JSON.parse(event.data));
  source.onerror = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (source?.readyState === EventSource.OPEN) return;
      state.ended = true;
      tell([]);
      if (source?.readyState === EventSource.CLOSED) timer = setTimeout(connect, 5000);
    }, 1200);
  };
}

function hear(update) {
  clearTimeout(timer);
  state.ended = false;
  state.version = update.version;
  state.head = update.head;
  const before = state.rows;
  if (update.whole) state.rows = new Map();
  for (const row of update.rows) state.rows.set(row.name, row);
  for (const name of update.gone) state.rows.delete(name);
  if (update.detail) state.detail = update.detail;
  const known = update.whole && before.size > 0;
  tell(update.rows.filter((row) => (known ? before.get(row.name)?.word !== row.word : !update.whole)));
}
