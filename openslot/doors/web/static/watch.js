// Fetches the save bar when somebody begins to change a form with `data-watch`, or one with fields for text, whose page asks
// before it is left. Without this script, forms have their buttons.

const LINES = ["text", "email", "url", "tel", "number", "date", "time", "datetime-local"].map((type) => `[type=${type}]`);
const TEXT = ["textarea", "input:not([type])", ...LINES].join();
// What is typed there is a secret, is saved at once, or is part of a question.
const ELSEWHERE = ["[data-autosave]", "dialog *", ":has([type=password], [autocomplete=one-time-code], .button-bad)"].join();
const WATCHED = ["form[data-watch]", `form[method=post]:is(main *):has(${TEXT}):not(${ELSEWHERE})`].join();

const place = document.querySelector("[data-save-bar]");
// As they are saved; rows may be gone by the time that the bar is there.
const forms = [...document.querySelectorAll(WATCHED)].map((form) => form.cloneNode(true));
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
  module.begin(forms, WATCHED);
  return module;
};

const load = () => {
  loaded ??= fetchBar();
  loaded.catch(() => (loaded = undefined));
};

for (const kind of ["pointerdown", "keydown", "input"]) {
  document.addEventListener(kind, (event) => { if (event.target.closest?.(WATCHED)) load(); });
}
addEventListener("keydown", (event) => {
  if (!loaded || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return;
  event.preventDefault();
  loaded.then((bar) => bar.save());
});
const isUnsaved = forms.some((form) => form.matches("[data-watch=unsaved], :has(.fault:not(:empty))"));
// The frame has fetched this script because somebody began.
if (isUnsaved || document.activeElement.closest(WATCHED)) load();
