// Pages of event types: the preview follows the form, questions change without a reload, rows are dragged,
// and the code for other sites opens in a dialog. Without this script, buttons and links do the same by new pages.

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

// A new event type's link follows its name until someone types one.
const slug = document.querySelector("[data-slug]");
if (slug) {
  const name = document.getElementById("name");
  const suggest = () => {
    const plain = name.value.normalize("NFKD").replace(/[^\x20-\x7e]/g, "").toLowerCase();
    slug.placeholder = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || slug.dataset.before;
  };
  slug.dataset.before = slug.placeholder;
  name.addEventListener("input", suggest);
  suggest();
}

// The order: rows are dragged by mouse, and moved by Alt with an arrow key.
const list = document.querySelector("[data-order]");
if (list) {
  let dragged = null;
  const move = (row, before) => {
    const sent = row.querySelector("[data-move]");
    sent.elements.before.value = before;
    HTMLFormElement.prototype.submit.call(sent);
  };
  const unmark = () => {
    for (const row of list.children) row.classList.remove("over", "over-end", "dragged");
  };
  const isLate = (row, event) => event.clientY > row.getBoundingClientRect().top + row.offsetHeight / 2;
  for (const row of list.children) row.draggable = true;
  list.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("li");
    dragged.classList.add("dragged");
    event.dataTransfer.effectAllowed = "move";
  });
  list.addEventListener("dragover", (event) => {
    const row = event.target.closest("li");
    if (!dragged || !row) return;
    event.preventDefault();
    for (const one of list.children) one.classList.remove("over", "over-end");
    row.classList.add(isLate(row, event) ? "over-end" : "over");
  });
  list.addEventListener("drop", (event) => {
    const row = event.target.closest("li");
    if (!dragged || !row) return;
    event.preventDefault();
    const next = isLate(row, event) ? row.nextElementSibling : row;
    if (next !== dragged && row !== dragged) move(dragged, next?.dataset.id ?? "");
  });
  list.addEventListener("dragend", () => {
    unmark();
    dragged = null;
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowUp: "up", ArrowDown: "down" }[event.key];
    if (!event.altKey || !by) return;
    event.preventDefault();
    event.target.closest("li")?.querySelector(`[data-move=${by}] button:enabled`)?.click();
  });
}

// The code for other sites, in a dialog where there is one, follows what is chosen.
for (const link of document.querySelectorAll("[data-opens]")) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    document.getElementById(link.dataset.opens).showModal();
  });
}
const look = document.querySelector("[data-embed]");
if (look) {
  look.querySelector("[data-embed-button]").hidden = true;
  const update = async () => {
    const shown = await read(await fetch(`${look.action}?${new URLSearchParams(new FormData(look))}`));
    for (const code of document.querySelectorAll("pre[id^='code-']")) {
      code.textContent = shown.getElementById(code.id)?.textContent ?? code.textContent;
    }
    for (const link of document.querySelectorAll("[data-try]")) {
      link.href = shown.querySelector(`[data-try=${link.dataset.try}]`)?.getAttribute("href") ?? link.href;
    }
  };
  look.addEventListener("submit", (event) => {
    event.preventDefault();
    update();
  });
  look.addEventListener("change", update);
  look.elements.accent.addEventListener("input", () => { look.elements.own_color.checked = true; });
}
