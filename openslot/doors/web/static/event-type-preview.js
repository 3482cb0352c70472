// The preview of one event type follows its form, and rows of the form change without a reload.
// `event-type.js` loads it when somebody begins to change something.

const read = async (response) => new DOMParser().parseFromString(await response.text(), "text/html");

// The preview: asked for when typing pauses, one request at a time, and put into the frame without a reload.
const form = document.querySelector("[data-offer]");
const frame = document.querySelector("[data-preview-frame]");
const state = document.querySelector("[data-preview-state]");
let timer = 0;
let asking = null;

const isShown = () => frame.contentDocument?.readyState === "complete" && frame.contentDocument.querySelector("main");

const put = (shown) => {
  const inside = frame.contentDocument;
  if (!inside?.body || !shown.querySelector("main")) return;
  const accent = (page) => page.querySelector("link[href*='/accent/']");
  const styled = accent(inside);
  if (styled && styled.getAttribute("href") !== accent(shown).getAttribute("href")) {
    // The former color stays until the new one is there.
    const next = inside.importNode(accent(shown));
    next.addEventListener("load", () => styled.remove(), { once: true });
    styled.after(next);
  }
  inside.querySelector("main").replaceWith(inside.importNode(shown.querySelector("main"), true));
  // Whoever changes a question wants to see it, and it is below the calendar.
  if (document.activeElement?.closest("#questions")) {
    const top = inside.querySelector(".details").getBoundingClientRect().top;
    inside.documentElement.scrollTop += top;
  }
};

const ask = async () => {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  state.textContent = state.dataset.updating;
  try {
    const response = await fetch(form.dataset.preview, { method: "POST", body: new URLSearchParams(new FormData(form)), signal });
    if (!response.ok) throw new Error(response.statusText);
    put(await read(response));
    state.textContent = "";
  } catch {
    if (!signal.aborted) state.textContent = state.dataset.offline;
  }
};

export const askSoon = () => {
  clearTimeout(timer);
  if (!isShown()) {
    frame.addEventListener("load", askSoon, { once: true });
    return;
  }
  timer = setTimeout(ask, 350);
};

// Currencies get their names in the reader's language.
const names = new Intl.DisplayNames(document.documentElement.lang, { type: "currency" });
for (const one of document.querySelectorAll("#currency > option")) {
  if (/^[A-Z]{3}$/.test(one.text)) one.replaceWith(new Option(`${one.text}, ${names.of(one.text)}`, one.text, one.defaultSelected, one.selected));
}

// Rows: the server changes the form, and only their part of the page is replaced.
export const change = async (button) => {
  const sent = new URLSearchParams(new FormData(form));
  sent.set("act", button.value);
  const { id } = button.closest("[data-rows]");
  const response = await fetch(form.action, { method: "POST", body: sent });
  const shown = (await read(response)).getElementById(id);
  if (!response.ok || !shown) throw new Error(response.statusText);
  document.getElementById(id).replaceWith(document.importNode(shown, true));
  document.querySelector(`#${id} [autofocus]`)?.focus();
  askSoon();
};
