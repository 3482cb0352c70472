// The time zones in a dialog, with a search as one types; the list comes from the server.

import { fetchPage } from "./pages.js";

export async function chooseZone(url) {
  const page = await fetchPage(url);
  const dialog = document.createElement("dialog");
  const list = page.querySelector("[data-zones]").cloneNode(true);
  const search = page.querySelector("[type=search]").cloneNode(true);
  const back = page.querySelector("[data-back]").cloneNode(true);
  dialog.className = "zones";
  dialog.ariaLabel = page.querySelector("h1").textContent;
  dialog.append(search, list, back);
  document.body.append(dialog);
  search.value = "";

  const found = () => [...list.querySelectorAll("button")];
  const searched = follow(search, async (text) => {
    const answer = await fetchPage(`${url}&${new URLSearchParams({ search: text })}`);
    return () => list.replaceChildren(...answer.querySelector("[data-zones]").cloneNode(true).childNodes);
  });
  dialog.addEventListener("keydown", (event) => walk(event, search, found, searched));
  back.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.close();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return new Promise((resolve) => {
    let chosen = null;
    list.addEventListener("submit", (event) => {
      event.preventDefault();
      chosen = event.submitter.value;
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(chosen);
    });
    dialog.showModal();
    search.focus();
  });
}

// The server searches when nothing was typed for a moment; the last text counts. Returns what waits for its answer.
function follow(search, ask) {
  let asked = Promise.resolve(), timer = 0, latest = 0;
  const now = () => {
    clearTimeout(timer);
    timer = 0;
    const mine = ++latest;
    asked = ask(search.value).then((show) => mine === latest && show(), () => {});
  };
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(now, 150);
  });
  return () => {
    if (timer) now();
    return asked;
  };
}

async function walk(event, search, list, searched) {
  const isEnter = /^Enter$/.test(event.key) && event.target === search;
  if (!isEnter && !/^Arrow(Up|Down)$/.test(event.key)) return;
  event.preventDefault();
  await searched();
  const found = list(), at = found.indexOf(event.target);
  if (isEnter) found[0]?.click();
  else if (/Down$/.test(event.key)) found[at + 1]?.focus();
  else if (at >= 0) (found[at - 1] ?? search).focus();
}
