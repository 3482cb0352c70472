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

  const buttons = [...list.querySelectorAll("button")];
  const found = () => buttons.filter((button) => !button.hidden);
  search.addEventListener("input", () => filter(list, buttons, search.value));
  dialog.addEventListener("keydown", (event) => walk(event, search, found()));
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

function filter(list, buttons, wanted) {
  const plain = fold(wanted);
  for (const button of buttons) button.hidden = !fold(`${button.textContent} ${button.value}`).includes(plain);
  for (const region of list.querySelectorAll("section")) {
    region.hidden = !region.querySelector("button:not([hidden])");
  }
}

function fold(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").replace(/[\s_]+/g, " ").trim().toLowerCase();
}

function walk(event, search, found) {
  const at = found.indexOf(event.target);
  if (event.key === "ArrowDown" && found[at + 1]) found[at + 1].focus();
  else if (event.key === "ArrowUp" && at >= 0) (found[at - 1] ?? search).focus();
  else if (/^Enter$/.test(event.key) && event.target === search && found[0]) found[0].click();
  else return;
  event.preventDefault();
}
