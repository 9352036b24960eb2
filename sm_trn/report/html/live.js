// The live page: pieces of HTML that the server has made and escaped, put into their places as they come.
// The one place that takes markup is `put`. The page's policy lets no script of a piece run.

const ended = document.getElementById("ended");
let source = null, timer = 0;

function put(id, html) {
  const place = document.getElementById(id);
  if (!place) return;
  const shape = document.createElement("template");
  shape.innerHTML = html;
  place.replaceChildren(shape.content);
  document.title = `${document.querySelector("h1")?.textContent ?? "live"} – sm_trn`;
}

function connect() {
  close();
  source = new EventSource("/api/live");
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
