// Search on pages that are opened from a folder: a browser starts no worker from a file, and the theme's search is one.
// A hidden frame takes its place: the script runs in it, and messages go to and fro as between a page and a worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) => urls.reduce((done, next) => done.then(() => this.load(next)), Promise.resolve());
      this.ready = this.load(url);
    }

    load(url) {
      return new Promise((loaded, failed) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = url;
        script.onload = loaded;
        script.onerror = failed;
        this.frame.contentDocument.head.append(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
