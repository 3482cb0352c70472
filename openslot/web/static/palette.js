// The palette on Ctrl-K, the list of keys on `?`, the search on `/`, and `g` with a second key for a page.
// Without this script, the link that opens the palette leads to a page with the same list.

const palette = document.getElementById("palette");
const keys = document.getElementById("shortcuts");
const search = palette.querySelector("input");
const nothing = palette.querySelector(".palette-nothing");
const options = [...palette.querySelectorAll("[role=option]")];
const afterG = new Map(options.filter((one) => one.dataset.keys).map((one) => [one.dataset.keys.slice(-1), one]));
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
let lastG = 0;

const shown = () => options.filter((one) => !one.hidden);

const choose = (option) => {
  for (const one of options) one.setAttribute("aria-selected", String(one === option));
  search.setAttribute("aria-activedescendant", option ? option.id : "");
  option?.scrollIntoView({ block: "nearest" });
};

const filter = () => {
  const wanted = plain(search.value.trim());
  for (const one of options) one.hidden = !plain(one.firstElementChild.textContent).includes(wanted);
  nothing.hidden = shown().length > 0;
  choose(shown()[0]);
};

const open = () => {
  if (keys.open) keys.close();
  if (palette.open) return;
  search.value = "";
  filter();
  palette.showModal();
  search.focus();
};

const step = (by) => {
  const all = shown();
  const at = all.findIndex((one) => one.getAttribute("aria-selected") === "true");
  choose(all[(at + by + all.length) % all.length]);
};

search.addEventListener("input", filter);
search.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    step(event.key === "ArrowDown" ? 1 : -1);
  }
});
search.form.addEventListener("submit", (event) => {
  event.preventDefault();
  palette.querySelector("[aria-selected=true]")?.click();
});
palette.addEventListener("click", (event) => {
  if (event.target === palette || event.target.closest("a")) palette.close();
});
for (const link of document.querySelectorAll("[data-palette]")) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
}

// A field of a dialog that was just closed may keep the focus until the next frame.
const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]")?.checkVisibility() ?? false;

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    open();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || palette.open) return;
  if (event.key === "?") {
    if (!keys.open) keys.showModal();
    return;
  }
  if (keys.open) return;
  if (event.key === "/") {
    event.preventDefault();
    const field = document.querySelector("[data-search]");
    if (field) field.focus();
    else location.assign("/bookings#q");
    return;
  }
  const isSecond = event.timeStamp - lastG < 1500;
  lastG = event.key === "g" ? event.timeStamp : 0;
  if (isSecond) afterG.get(event.key)?.click();
});

if (location.hash === "#q") document.getElementById("q")?.focus();
