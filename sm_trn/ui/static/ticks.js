// Which jobs are ticked, in the order of ticking; the first six have a colour and a mark on every view.

const KEY = "sm_trn.ticks";
const MARKS = ["●", "■", "▲", "◆", "▼", "✚"];
let names = read();

function read() {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}

export const ticked = () => names;
export const isTicked = (name) => names.includes(name);

export function tick(name, on = !isTicked(name)) {
  names = on ? [...names.filter((one) => one !== name), name] : names.filter((one) => one !== name);
  keep();
}

export function untickAll() {
  names = [];
  keep();
}

function keep() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(names));
  } catch {
    // a private window without storage: the ticks last as long as the page
  }
}

export function slot(name) {
  const place = names.indexOf(name);
  return place >= 0 && place < MARKS.length ? { color: `s${place + 1}`, mark: MARKS[place] } : { color: "", mark: "" };
}
