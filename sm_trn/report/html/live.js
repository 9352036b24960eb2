// The live page: pieces of HTML that the server has made and escaped, put into their places as they come; ticks, and the stop.
// The one place that takes markup is `put`. The page's policy lets no script of a piece run.

const csrf = document.querySelector("meta[name=csrf]").content;
const job = document.body.dataset.job;
const ended = document.getElementById("ended");
let source = null, timer = 0;

function put(id, html) {
  const place = document.getElementById(id);
  if (!place) return;
  const focus = place.contains(document.activeElement) ? document.activeElement.id : "";
  const atEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - 30;
  const shape = document.createElement("template");
  shape.innerHTML = html;
  place.replaceChildren(shape.content);
  if (id === "log" && atEnd) place.scrollTop = place.scrollHeight;
  if (id === "jobs") drawTicks();
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  document.title = `${document.querySelector("h1")?.textContent ?? "live"} – sm_trn`;
}

function connect() {
  close();
  source = new EventSource(`/api/live${job ? `?job=${encodeURIComponent(job)}` : ""}`);
  source.onmessage = (event) => {
    clearTimeout(timer);
    ended.hidden = true;
    for (const [id, html] of Object.entries(JSON.parse(event.data))) put(id, html);
  };
  source.onerror = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (source?.readyState === EventSource.OPEN) return;
      ended.hidden = false;
      if (source?.readyState === EventSource.CLOSED) timer = setTimeout(connect, 5000);
    }, 1200);
  };
}

function close() {
  source?.close();
  source = null;
  clearTimeout(timer);
}

// Nothing is asked while nobody looks.
document.addEventListener("visibilitychange", () => (document.hidden ? close() : connect()));
if (!document.hidden) connect();

// What is ticked is kept for this tab, and is the address of the comparison.
function ticked() {
  try {
    return new Set(JSON.parse(sessionStorage.getItem("sm_trn.ticks") ?? "[]"));
  } catch {
    return new Set();
  }
}

function drawTicks() {
  const names = ticked(), jobs = document.querySelectorAll("#jobs tbody th a");
  jobs.forEach((link, place) => {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.id = `tick-${place}`;
    box.value = new URL(link.href).searchParams.get("name");
    box.checked = names.has(box.value);
    box.setAttribute("aria-label", `Compare ${box.value}`);
    link.before(box, " ");
  });
  drawCompare(names);
}

function drawCompare(names) {
  const link = document.getElementById("compare");
  link.hidden = names.size === 0;
  link.href = `/comparison?${new URLSearchParams([...names].map((name) => ["job", name]))}`;
  link.textContent = `Compare ${names.size}`;
}

addEventListener("change", (event) => {
  if (!event.target.matches("#jobs input[type=checkbox]")) return;
  const names = ticked();
  if (event.target.checked) names.add(event.target.value);
  else names.delete(event.target.value);
  sessionStorage.setItem("sm_trn.ticks", JSON.stringify([...names]));
  drawCompare(names);
});
drawTicks();

// A stop needs the job's name, typed by a person.
addEventListener("input", (event) => {
  const form = event.target.closest(".stop");
  if (form) form.querySelector("button").disabled = event.target.value !== form.dataset.name;
});

addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target, said = form.querySelector("[role=status]");
  said.textContent = "Asking …";
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": csrf };
  const body = JSON.stringify({ job: form.dataset.name, confirm: form.querySelector("input").value });
  try {
    const answer = await (await fetch("/api/stop", { method: "POST", headers, body })).json();
    const words = answer.asked ? "The job was asked to stop. Its script may save first." : "The job had ended, or was being stopped already.";
    said.textContent = answer.error ?? words;
  } catch {
    said.textContent = "The server does not answer.";
  }
});
