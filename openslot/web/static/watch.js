// Fetches the save bar when somebody begins to change a form with `data-watch`. Without this script, forms have their buttons.

const place = document.querySelector("[data-save-bar]");
// As they are saved; rows may be gone by the time that the bar is there.
const forms = [...document.querySelectorAll("form[data-watch]")].map((form) => form.cloneNode(true));
let loaded;

const fetchBar = async () => {
  const answer = await fetch(place.dataset.from);
  if (!answer.ok) throw new Error(`${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const style = document.importNode(page.querySelector("link"));
  const styled = new Promise((resolve) => (style.onload = style.onerror = resolve));
  document.head.append(style);
  const bar = page.querySelector("[data-save-bar]");
  bar.dataset.saveBar = place.dataset.saveBar;
  await styled;
  place.replaceWith(bar, ...page.querySelectorAll("dialog"));
  const module = await import(bar.dataset.script);
  module.begin(forms);
  return module;
};

const load = () => {
  loaded ??= fetchBar();
  loaded.catch(() => (loaded = undefined));
};

for (const kind of ["pointerdown", "keydown", "input"]) {
  document.addEventListener(kind, (event) => { if (event.target.closest?.("form[data-watch]")) load(); });
}
addEventListener("keydown", (event) => {
  if (!loaded || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return;
  event.preventDefault();
  loaded.then((bar) => bar.save());
});
if (document.querySelector("form[data-watch=unsaved]")) load();
