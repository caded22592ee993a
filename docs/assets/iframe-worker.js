// A browser refuses workers on pages opened from a folder, and Material's search is one.
// There, the worker's script runs in a hidden frame that answers like a worker. (Scripts that a worker
// imports are not supported: English search imports none.)
if (location.protocol === "file:") {
  class FrameWorker extends EventTarget {
    #frame = document.createElement("iframe")
    #loaded

    constructor(script) {
      super()
      this.#loaded = new Promise(resolve => this.#frame.addEventListener("load", resolve))
      this.#frame.hidden = true
      this.#frame.srcdoc = `<script src="${new URL(script, location.href)}"></script>`
      document.body.append(this.#frame)
    }

    async postMessage(data) {
      await this.#loaded
      const inside = this.#frame.contentWindow
      inside.postMessage = answer => this.dispatchEvent(new MessageEvent("message", { data: answer }))
      inside.dispatchEvent(new MessageEvent("message", { data }))
    }
  }
  window.Worker = window.IFrameWorker = FrameWorker
}
