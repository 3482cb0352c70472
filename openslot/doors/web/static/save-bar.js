// The save bar: says what was changed and is not saved yet, saves all of it at once, and asks before it is lost.
// It stands there for forms with `data-watch`; "unsaved" there means that what the form shows was never saved. The page is not left
// without a question while any form that `watch.js` names was changed.
// `watch.js` fetches it when somebody begins to change something.

const bar = document.querySelector("[data-save-bar]");
const what = bar.querySelector("[data-what]");
const [discard, leave] = ["discard", "leave"].map((id) => document.getElementById(id));
const stored = new Map();
const PARTS = "section, details.card";
let selector = "form[data-watch]";
let sent = null;
let isLeaving = false;
let target = "";

const watched = () => [...document.querySelectorAll(selector)];
const keyOf = (form) => form.getAttribute("action");
const saveButton = (form) => form.querySelector(".button-main:not([formaction])") ?? form.querySelector("button:not([type=button])");
const isUnsaved = (form) => form.dataset.watch === "unsaved" || form.querySelector(".fault:not(:empty)") !== null;
const textOf = (element) => element?.firstChild?.textContent.trim() || element?.textContent.trim();

function nameOf(field) {
  return textOf(field.closest("fieldset")?.querySelector("legend") ?? field.labels?.[0]) ?? "";
}

function valueOf(field, isStored) {
  if (field.type === "checkbox" || field.type === "radio") {
    return (isStored ? field.defaultChecked : field.checked) ? field.value : null;
  }
  if (field.tagName === "SELECT") {
    if (!isStored) return field.value;
    return ([...field.options].find((option) => option.defaultSelected) ?? field.options[0])?.value ?? "";
  }
  return isStored ? field.defaultValue : field.value;
}

// Everything that a form would send, by name: its value, what people call it, and which of the form's parts it is in.
function read(form, isStored) {
  const found = new Map(), parts = [...form.querySelectorAll(PARTS)];
  for (const field of form.elements) {
    if (!field.name || field.tagName === "BUTTON" || field.closest("[data-aside]")) continue;
    const value = valueOf(field, isStored);
    const key = value !== null && found.has(field.name) ? `${field.name} ${found.size}` : field.name;
    if (value !== null) found.set(key, { value, name: nameOf(field), part: parts.indexOf(field.closest(PARTS)) });
  }
  return found;
}

function listChanges(form) {
  const [before, now] = [stored.get(keyOf(form)) ?? new Map(), read(form)];
  const changes = [...new Set([...before.keys(), ...now.keys()])]
    .filter((key) => before.get(key)?.value !== now.get(key)?.value)
    .map((key) => now.get(key) ?? before.get(key))
    .map(({ name, part }) => ({ name, part: form.querySelectorAll(PARTS)[part] ?? form.closest(PARTS) }));
  if (changes.length || !isUnsaved(form)) return changes;
  return [{ name: textOf(form.closest("section")?.querySelector("h2")) ?? "", part: form.closest("section") }];
}

const listUnsaved = () => watched().filter((form) => listChanges(form).length);

function update() {
  const unsaved = listUnsaved(), changes = watched().filter((form) => "watch" in form.dataset).flatMap(listChanges);
  for (const part of document.querySelectorAll(".changed")) part.classList.remove("changed");
  for (const { part } of changes) part?.classList.add("changed");
  const names = [...new Set(changes.map(({ name }) => name).filter(Boolean))];
  what.textContent = new Intl.ListFormat(document.documentElement.lang, { type: "unit", style: "short" }).format(names);
  bar.hidden = !changes.length;
  leave.querySelector("[value=save]").textContent = unsaved.length === 1 ? textOf(saveButton(unsaved[0])) : bar.dataset.word;
}

// Forms are sent one after another without leaving the page; one that is refused shows why, in its place.
async function send(form) {
  const data = new FormData(form, saveButton(form));
  const body = form.enctype.startsWith("multipart") ? data : new URLSearchParams(data);
  const response = await fetch(form.action, { method: "POST", body });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const shown = [...page.querySelectorAll(selector)].find((other) => keyOf(other) === keyOf(form));
  if (!shown && !response.ok) throw new Error(response.statusText);
  if (!shown) {
    stored.set(keyOf(form), read(form));
    return true;
  }
  const fresh = document.importNode(shown, true);
  form.replaceWith(fresh);
  if (response.ok) stored.set(keyOf(fresh), read(fresh, true));
  else fresh.querySelector("[aria-invalid]")?.focus();
  update();
  return response.ok;
}

async function sendAll(forms) {
  try {
    for (const form of forms) if (!form.reportValidity() || !(await send(form))) return false;
    return true;
  } catch {
    what.textContent = bar.dataset.failed;
    return false;
  }
}

// The last one is sent as a page, so that the next page says that it was saved.
export async function save(last = listUnsaved().at(-1), button = null) {
  if (await sendAll(listUnsaved().filter((form) => form !== last))) last?.requestSubmit(button ?? saveButton(last));
}

function go(address) {
  isLeaving = true;
  location.assign(address);
}

export function begin(forms, watchedForms) {
  selector = watchedForms;
  for (const form of forms) stored.set(keyOf(form), read(form, true));
  new MutationObserver(() => requestAnimationFrame(update)).observe(bar.parentElement, { childList: true, subtree: true });
  document.addEventListener("input", update);
  document.addEventListener("change", update);
  update();
}

document.addEventListener("submit", (event) => {
  const form = event.target, button = event.submitter;
  if (event.defaultPrevented || !form.matches(selector) || button?.formTarget) return;
  const isStep = button?.name === "act" && button.value !== "save";
  if (isStep || listUnsaved().every((other) => other === form)) sent = form;
  else {
    event.preventDefault();
    save(form, button);
  }
});

addEventListener("beforeunload", (event) => {
  if (isLeaving || listUnsaved().every((form) => form === sent)) return;
  event.preventDefault();
});
// A page that the back button shows again was left unsaved.
addEventListener("pageshow", () => { sent = null; isLeaving = false; });

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  const isOther = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!link || event.defaultPrevented || isOther || link.target || link.hasAttribute("download")) return;
  if (link.href.split("#")[0] === location.href.split("#")[0] && link.hash) return;
  if (!listUnsaved().length) return;
  event.preventDefault();
  target = link.href;
  leave.showModal();
});

bar.querySelector("[data-discard]").addEventListener("click", () => discard.showModal());
bar.querySelector("[data-save]").addEventListener("click", () => save());
discard.addEventListener("close", () => discard.returnValue === "discard" && go(bar.dataset.saveBar));
leave.addEventListener("close", async () => {
  if (leave.returnValue === "leave") go(target);
  else if (leave.returnValue === "save" && (await sendAll(listUnsaved()))) go(target);
});
