// The palette: pages and actions that match at once, and people, bookings and event types that the server finds.

const WAIT = 150;
const palette = document.getElementById("palette");
const keys = document.getElementById("shortcuts");
const search = palette.querySelector("input");
const nothing = palette.querySelector(".palette-nothing");
const found = palette.querySelector(".palette-found");
const pages = [...palette.querySelectorAll("[role=option]")];
const places = palette.querySelector("[role=group]");
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
let asked = new AbortController();
let waiting;

const shown = () => [...palette.querySelectorAll("[role=option]")].filter((one) => !one.hidden);
const chosen = () => palette.querySelector("[aria-selected=true]:not([hidden])");

const choose = (option) => {
  palette.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
  option?.setAttribute("aria-selected", "true");
  search.setAttribute("aria-activedescendant", option ? option.id : "");
  option?.scrollIntoView({ block: "nearest" });
};

const fill = (options, { isWaiting = false } = {}) => {
  found.replaceChildren(...options);
  nothing.hidden = isWaiting || shown().length > 0;
  if (!chosen()) choose(shown()[0]);
};

const ask = async (wanted) => {
  asked = new AbortController();
  try {
    const answer = await fetch(`/search/options?q=${encodeURIComponent(wanted)}`, { signal: asked.signal });
    if (!answer.ok || answer.redirected) return fill([]);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    fill(page.body.children);
  } catch (fault) {
    if (fault.name !== "AbortError") fill([]);
  }
};

const filter = () => {
  const wanted = search.value.trim();
  asked.abort();
  clearTimeout(waiting);
  for (const one of pages) one.hidden = !plain(one.firstElementChild.textContent).includes(plain(wanted));
  places.hidden = pages.every((one) => one.hidden);
  const isAsked = wanted.length > 1;
  choose(undefined);
  fill([], { isWaiting: isAsked });
  if (isAsked) waiting = setTimeout(ask, WAIT, wanted);
};

const step = (by) => {
  const all = shown();
  choose(all.at((all.indexOf(chosen()) + by) % all.length));
};

search.addEventListener("input", filter);
search.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    step(event.key === "ArrowDown" ? 1 : -1);
  }
});
search.form.addEventListener("submit", (event) => {
  const option = chosen();
  if (!option) return;
  event.preventDefault();
  option.click();
});
palette.addEventListener("click", (event) => {
  if (event.target === palette || event.target.closest("a")) palette.close();
});

export const open = ({ text, steps, isSent }) => {
  if (keys.open) keys.close();
  if (palette.open) return;
  search.value = text;
  filter();
  if (steps) step(steps);
  palette.showModal();
  search.focus();
  if (isSent) search.form.requestSubmit();
};

export const showKeys = () => {
  if (!keys.open) keys.showModal();
};

export const go = (key) => pages.find((one) => one.dataset.keys === `g ${key}`)?.click();
