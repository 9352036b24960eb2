// Which jobs are ticked. The first twelve have a mark and one of six colours, which stay theirs on every view until they are unticked.

const KEY = "sm_trn.ticks";
const MARKS = ["●", "■", "▲", "◆", "▼", "✚", "★", "◀", "▶", "⬟", "⬢", "✖"];
const COLORS = 6;
let slots = read(); // name → slot, in the order of ticking

function read() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return new Map(found.filter(([name, slot]) => typeof name === "string" && Number.isInteger(slot)));
  } catch {
    return new Map();
  }
}

export const ticked = () => [...slots.keys()];
export const isTicked = (name) => slots.has(name);
export const slotOf = (name) => slots.get(name);

export function tick(name, on = !slots.has(name)) {
  if (!on) slots.delete(name);
  else if (!slots.has(name)) {
    const taken = new Set(slots.values());
    let free = 0;
    while (taken.has(free)) free += 1;
    slots.set(name, free);
  }
  keep();
}

export function tickOnly(names) {
  slots = new Map([...slots].filter(([name]) => names.includes(name)));
  for (const name of names) tick(name, true);
  keep();
}

export function untickAll() {
  slots = new Map();
  keep();
}

function keep() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...slots]));
  } catch {
    // a window without storage: the ticks last as long as the page
  }
}

export function slot(name) {
  const place = slots.get(name) ?? MARKS.length;
  return place < MARKS.length ? { color: `s${(place % COLORS) + 1}`, mark: MARKS[place] } : { color: "", mark: "" };
}
