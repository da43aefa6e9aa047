/* Search where the pages are files: a browser starts no worker there. So the worker's script runs in a hidden frame of the page,
   which has its `postMessage` and `importScripts`; on a server none of this happens. The theme's offline plugin goes by the name
   of this file: without one of that name it would load another from elsewhere. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inside.importScripts = (...urls) => Promise.all(urls.map((each) => this.load(inside, each)));
      this.load(inside, url).then(() => {
        this.inside = inside;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }

    load(inside, url) {
      return new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        inside.document.body.append(script);
      });
    }

    postMessage(data) {
      if (!this.inside) this.waiting.push(data);
      else this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }

    terminate() {}
  };
}
