// One event type: the preview follows the form, questions change without a reload, and the code for other sites opens in
// a dialog. Without this script, buttons and links do the same by new pages.

const read = async (response) => new DOMParser().parseFromString(await response.text(), "text/html");

// The preview: asked for when typing pauses, one request at a time, and put into the frame without a reload.
const form = document.querySelector("[data-offer]");
const frame = document.querySelector("[data-preview-frame]");
const state = document.querySelector("[data-preview-state]");
let timer = 0;
let asking = null;

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

const askSoon = () => {
  clearTimeout(timer);
  timer = setTimeout(ask, 350);
};

// Questions: the server changes the form, and only their part of the page is replaced.
const change = async (button) => {
  const sent = new URLSearchParams(new FormData(form));
  sent.set("act", button.value);
  const response = await fetch(form.action, { method: "POST", body: sent });
  const shown = await read(response);
  const [here, there] = [document, shown].map((page) => page.getElementById("questions"));
  if (!response.ok || !there) throw new Error(response.statusText);
  here.replaceWith(document.importNode(there, true));
  document.querySelector("#questions [autofocus]")?.focus();
  askSoon();
};

if (form && frame) {
  document.querySelector("[data-preview-button]").hidden = true;
  form.addEventListener("input", askSoon);
  form.addEventListener("submit", async (event) => {
    const button = event.submitter;
    if (button?.name !== "act" || form.dataset.plain) return;
    event.preventDefault();
    try {
      await change(button);
    } catch {
      form.dataset.plain = "true";
      form.requestSubmit(button);
    }
  });
  // A field in a folded section must be seen before the browser can say what is wrong with it.
  form.addEventListener("invalid", (event) => {
    for (let fold = event.target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  }, true);
  // What was typed before a reload, or is shown again with faults, is not what the frame has loaded.
  const loaded = frame.contentDocument;
  if (loaded?.readyState === "complete" && loaded.querySelector("main")) askSoon();
  else frame.addEventListener("load", askSoon, { once: true });
}

// The code for other sites is loaded when it is asked for.
for (const link of document.querySelectorAll("[data-opens]")) {
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    try {
      const { open } = await import(link.dataset.opens);
      await open(document.getElementById("embed"), link.href);
    } catch {
      location.assign(link.href);
    }
  });
}
