// <openslot-booking>: a booking page inline, in a popup, or behind a floating button. docs/widget.md describes it.
(() => {
  const NAME = "openslot-booking";
  if (customElements.get(NAME)) return;

  // Texts by language; the server inserts them from the catalogs.
  const WORDS = {};
  const EVENTS = ["ready", "slotSelected", "booked", "requested", "rescheduled", "cancelled", "error"];
  const SCRIPT = document.currentScript?.src || document.baseURI;
  const READY_WITHIN = 20000;

  // A constructed sheet is allowed by any Content-Security-Policy; a <style> element is not.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
:host{display:block}
:host([mode=popup]){display:inline-block}
:host([mode=floating]){display:contents}
:host([hidden]){display:none}
iframe{display:block;width:100%;height:640px;border:0;border-radius:16px}
button{font:600 16px/1.25 system-ui,sans-serif;min-height:44px;padding:10px 20px;border:0;border-radius:10px;cursor:pointer}
button:focus-visible{outline:2px solid #000;outline-offset:2px;box-shadow:0 0 0 2px #fff}
:host([mode=floating])>button{position:fixed;inset-block-end:20px;inset-inline-end:20px;z-index:2147483000;border-radius:99px;box-shadow:0 4px 16px #0004}
:host([mode=floating][position=start])>button{inset-inline:20px auto}
dialog{color-scheme:light dark;width:min(1000px,100vw - 32px);max-width:none;max-height:calc(100dvh - 32px);box-sizing:border-box;padding:0;border:0;border-radius:16px;background:Canvas;color:CanvasText;overflow:hidden;box-shadow:0 8px 40px #0006}
dialog::backdrop{background:#0008}
header{display:flex;align-items:center;padding-inline-start:20px;font:600 16px/1.25 system-ui,sans-serif}
dialog button{min-width:44px;padding:0;margin-inline-start:auto;background:none;color:inherit;font-size:24px}
dialog iframe{max-height:calc(100dvh - 76px);border-radius:0}
dialog slot{display:block;padding:0 20px 20px}
@media(max-width:600px){dialog{width:100vw;height:100dvh;max-height:none;border-radius:0}dialog iframe{max-height:calc(100dvh - 44px)}}
@media(prefers-reduced-motion:no-preference){dialog[open]{animation:a .12s}@keyframes a{from{opacity:0}}}`);

  const make = (tag, part) => Object.assign(document.createElement(tag), { part });

  customElements.define(NAME, class extends HTMLElement {
    static observedAttributes = ["url", "mode", "theme", "accent", "label", "lang"];
    #root = this.attachShadow({ mode: "open" });
    #mounted;
    #isPlanned;
    #url;
    #frame;
    #dialog;
    #label;
    #timer;
    #link = make("slot", "link");

    connectedCallback() {
      this.#plan();
    }

    disconnectedCallback() {
      this.#unmount();
    }

    attributeChangedCallback(name, before, after) {
      if (before !== after) this.#plan();
    }

    open() {
      if (!this.#dialog || this.#dialog.open) return;
      this.#load(this.#dialog);
      this.#dialog.showModal();
    }

    close() {
      this.#dialog?.close();
    }

    // Attributes that change together are applied together, and after the link inside has been parsed.
    #plan() {
      if (this.#isPlanned || !this.isConnected) return;
      this.#isPlanned = true;
      const mount = () => {
        this.#isPlanned = false;
        if (this.isConnected) this.#mount();
      };
      if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mount, { once: true });
      else queueMicrotask(mount);
    }

    #mount() {
      this.#unmount();
      this.#root.adoptedStyleSheets = [sheet];
      const link = this.querySelector("a[href]");
      try {
        this.#url = new URL(this.getAttribute("url") ?? link.href, SCRIPT);
      } catch {}
      if (!/^https?:$/.test(this.#url?.protocol)) return this.#fail("invalid_url");

      const theme = this.getAttribute("theme") ?? "auto";
      const accent = /^#?([\da-f]{6})$/i.exec(this.getAttribute("accent") ?? "")?.[1];
      const lang = this.closest("[lang]")?.lang;
      const asked = { embed: 1, theme, accent, lang, embed_origin: location.origin };
      for (const [name, value] of Object.entries(asked)) if (value) this.#url.searchParams.set(name, value);

      this.#mounted = new AbortController();
      const { signal } = this.#mounted;
      addEventListener("message", (message) => this.#receive(message), { signal });

      const [book, close] = WORDS[(lang || navigator.language).slice(0, 2)] ?? WORDS.en;
      this.#label = this.getAttribute("label") || link?.textContent.trim() || book;
      if (!["popup", "floating"].includes(this.getAttribute("mode"))) return this.#load(this.#root);

      const button = make("button", "button");
      button.textContent = this.#label;
      this.#paint(button, accent ?? "3155d9");
      button.ariaHasPopup = "dialog";
      button.addEventListener("click", () => this.open());

      const dialog = make("dialog", "dialog");
      dialog.ariaLabel = this.#label;
      if (/^(light|dark)$/.test(theme)) dialog.style.colorScheme = theme;
      const closer = make("button", "close");
      closer.textContent = "×";
      closer.ariaLabel = close;
      closer.addEventListener("click", () => this.close());
      const header = make("header", "header");
      header.append(this.#label, closer);
      dialog.append(header);
      dialog.addEventListener("click", (event) => event.target === dialog && this.close());
      // Without its frame, the page lets go of a slot that it held.
      dialog.addEventListener("close", () => this.#unload());
      this.#dialog = dialog;
      this.#root.append(button, dialog);
    }

    #unmount() {
      this.#mounted?.abort();
      this.#unload();
      this.#root.replaceChildren();
      this.#url = this.#dialog = this.#mounted = undefined;
    }

    #load(place) {
      this.#frame = make("iframe", "frame");
      this.#frame.title = this.#label;
      this.#frame.src = this.#url;
      place.append(this.#frame);
      // A page without an origin of its own can't be told that the frame is ready.
      if (location.origin !== "null") this.#timer = setTimeout(() => this.#fail("not_loaded"), READY_WITHIN);
    }

    #unload() {
      this.#timer = clearTimeout(this.#timer);
      this.#frame?.remove();
      this.#link.remove();
      this.#frame = undefined;
    }

    #fail(code) {
      (this.#dialog ?? this.#root).append(this.#link);
      this.#emit("error", { code });
    }

    #receive({ origin, source, data }) {
      if (!this.#frame || origin !== this.#url.origin || source !== this.#frame.contentWindow) return;
      if (data?.source !== "openslot") return;
      const { type, height } = data;
      if (type === "height" && height > 0) this.#frame.style.height = `${Math.min(Math.ceil(height), 9999)}px`;
      else if (type === "close") this.close();
      else if (EVENTS.includes(type)) {
        const { source: _, type: __, ...detail } = data;
        if (type === "ready") {
          // Each page that the frame moves on to is ready again; the site is told once.
          if (!this.#timer) return;
          this.#timer = clearTimeout(this.#timer);
          this.#link.remove();
        }
        this.#emit(type, detail);
      }
    }

    #emit(type, detail) {
      // An error that bubbled would reach window.onerror, which expects faults of scripts.
      this.dispatchEvent(new CustomEvent(type, { detail, bubbles: type !== "error" }));
    }

    // Black or white, whichever can be read better on the color.
    #paint(button, accent) {
      const [r, g, b] = accent.match(/../g).map((part) => (parseInt(part, 16) / 255) ** 2.2);
      button.style.background = `#${accent}`;
      button.style.color = 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
    }
  });
})();
