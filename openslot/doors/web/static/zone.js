// A time zone's field: zones in a list below it, which the server searches; and the browser's own where none was chosen.

const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
// Some browsers use outdated names, such as Asia/Calcutta.
const isOwn = (option) => option.dataset.zone === own || option.dataset.former?.split(" ").includes(own);
const isField = (element) => element.matches?.("input[data-zones]");
let list = null, timer = 0, latest = 0, asked = Promise.resolve();

async function ask(field, search) {
  const all = new URL(field.dataset.zones, location);
  if (search) {
    all.searchParams.delete("v");
    all.searchParams.set("search", search);
  }
  const response = await fetch(all);
  if (!response.ok) throw new Error(`${response.status}`);
  return new DOMParser().parseFromString(await response.text(), "text/html").body;
}

const options = () => (list ? [...list.querySelectorAll("[role=option]")] : []);
const current = () => list?.querySelector("[aria-selected=true]");

// What is typed is searched for; a field that nobody has changed shows all, its own and the browser's on top.
async function open(field) {
  const mine = ++latest;
  const isChanged = field.value !== field.defaultValue;
  const found = await ask(field, isChanged ? field.value.trim() : "").catch(() => null);
  if (mine !== latest || !found || document.activeElement !== field) return;
  close(field);
  list = document.createElement("div");
  list.className = "zone-list";
  list.append(...(isChanged ? [] : [onTop(found, field)]), ...found.childNodes);
  if (options().length) {
    list.id = `${field.id}-zones`;
    list.role = "listbox";
    list.ariaLabel = field.labels[0].textContent;
    options().forEach((option, at) => (option.id = `zone-${at}`));
    field.setAttribute("aria-controls", list.id);
  }
  field.ariaExpanded = `${options().length > 0}`;
  field.parentElement.append(list);
  list.scrollIntoView({ block: "nearest" });
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    const option = event.target.closest("[role=option]");
    if (option) choose(field, option);
  });
}

function onTop(found, field) {
  const all = [...found.querySelectorAll("[role=option]")];
  const top = document.createElement("div");
  top.role = "group";
  for (const option of new Set([all.find((each) => each.dataset.label === field.value), all.find(isOwn)])) {
    if (option) top.append(option.cloneNode(true));
  }
  return top.childElementCount ? top : "";
}

function close(field) {
  list?.remove();
  list = null;
  field.ariaExpanded = "false";
  field.removeAttribute("aria-controls");
  field.removeAttribute("aria-activedescendant");
}

function choose(field, option) {
  latest++;
  clearTimeout(timer);
  field.value = option.dataset.label;
  close(field);
  field.dispatchEvent(new Event("change", { bubbles: true }));
}

function select(field, option) {
  current()?.removeAttribute("aria-selected");
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", option.id);
}

function search(field) {
  clearTimeout(timer);
  timer = 0;
  asked = open(field);
}

document.addEventListener("input", (event) => {
  if (!isField(event.target)) return;
  clearTimeout(timer);
  timer = setTimeout(search, 150, event.target);
});
for (const kind of ["focusin", "click"]) {
  document.addEventListener(kind, (event) => isField(event.target) && !list && search(event.target));
}
document.addEventListener("focusout", (event) => {
  if (!isField(event.target)) return;
  latest++;
  clearTimeout(timer);
  close(event.target);
});
document.addEventListener("keydown", async (event) => {
  const field = event.target;
  if (!isField(field)) return;
  if (/^Escape$/.test(event.key) && list) close(field);
  else if (/^Enter$/.test(event.key) && (list || timer)) {
    event.preventDefault();
    if (timer) search(field);
    await asked;
    const option = current() ?? (field.value === field.defaultValue ? null : options()[0]);
    if (option) choose(field, option);
    else close(field);
  } else if (/^Arrow(Down|Up)$/.test(event.key)) {
    event.preventDefault();
    if (!list) search(field);
    await asked;
    const all = options(), at = all.indexOf(current());
    const next = /Down$/.test(event.key) ? all[at + 1] : all[at - 1];
    if (next) select(field, next);
  }
});

if (isField(document.activeElement)) search(document.activeElement);
for (const field of document.querySelectorAll("input[data-guess-zone]")) {
  const found = await ask(field, own).catch(() => null);
  const option = [...(found?.querySelectorAll("[role=option]") ?? [])].find(isOwn);
  if (option && field.value === field.defaultValue) field.value = option.dataset.label;
}
