// The calendar: another month, zone or clock without leaving the page, and the times of one day at a time.

import { enhanceGrid } from "./grid.js";
import { fetchPage } from "./pages.js";
import { chooseZone } from "./zones.js";

export function enhancePicker(form, { open, fits, refresh }) {
  const part = (name) => document.querySelector(`[data-part=${name}]`);
  const grid = enhanceGrid(part("grid"), turn);
  let latest = 0;

  form.addEventListener("submit", async (event) => {
    const button = event.submitter;
    if (!button) return;
    event.preventDefault();
    if (button.name === "date") choose(button);
    else if (button.name === "start") open(button);
    else if (button.name === "month") await load({ month: button.value });
    else if (button.name === "h") await keep("h", button.value);
    else if (button.name === "duration") await chooseDuration(button.value);
    else if (button.name === "view") await pickZone();
  });
  for (const name of ["earlier", "later"]) {
    for (const sign of ["pointerenter", "focus"]) part(name).addEventListener(sign, () => prefetch(part(name).value));
  }
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (form.dataset.guessZone && zone && zone !== form.dataset.guessZone) keep("tz", zone);

  function choose(button) {
    for (const other of part("grid").querySelectorAll("button")) other.ariaPressed = `${other === button}`;
    for (const day of part("times").children) day.hidden = day.dataset.day !== button.value;
    part("date").value = button.value;
    grid.refresh();
    part("times").scrollIntoView({ block: "nearest", behavior: isCalm() ? "instant" : "smooth" });
  }

  async function keep(name, value) {
    let input = form.querySelector(`input[type=hidden][name="${name}"]`);
    if (!input) {
      input = document.createElement("input");
      Object.assign(input, { type: "hidden", name });
      form.prepend(input);
    }
    input.value = value;
    await load({});
    form.querySelector(`button[name="${name === "tz" ? "view" : name}"][aria-pressed=true]`)?.focus();
  }

  // The address names the duration too, for those who reload the page or share it.
  async function chooseDuration(minutes) {
    const query = new URLSearchParams(location.search);
    query.set("duration", minutes);
    history.replaceState(history.state, "", `${location.pathname}?${query}`);
    await keep("duration", minutes);
  }

  async function turn(step) {
    const button = part(step < 0 ? "earlier" : "later");
    if (button.disabled) return false;
    await load({ month: button.value });
    return true;
  }

  async function load(changes) {
    const url = address(changes);
    const hadFocus = document.activeElement;
    const mine = ++latest;
    form.ariaBusy = "true";
    try {
      const page = await fetchPage(url);
      // Answers may come in another order than they were asked for in: the last question counts.
      if (mine !== latest) return;
      if (fits(page)) swap(page);
    } catch {
      if (mine === latest) location.assign(url);
      return;
    }
    form.ariaBusy = "false";
    if (hadFocus?.disabled || (hadFocus && !hadFocus.isConnected)) focusNear(hadFocus);
  }

  function swap(page) {
    for (const old of document.querySelectorAll("[data-part]")) {
      const fresh = page.querySelector(`[data-part=${old.dataset.part}]`);
      if ("value" in old) {
        old.value = fresh.value;
        old.disabled = fresh.disabled;
      } else if (old.innerHTML !== fresh.innerHTML) {
        old.replaceChildren(...[...fresh.cloneNode(true).childNodes]);
      }
    }
    grid.refresh();
    refresh();
  }

  function focusNear(gone) {
    const same = gone.name && form.querySelector(`button[name="${gone.name}"][value="${gone.value}"]:enabled`);
    (same || form.querySelector(".month :enabled") || grid.current())?.focus();
  }

  async function pickZone() {
    const opener = form.querySelector("button[name=view]");
    const chosen = await chooseZone(address({ view: "zones" }));
    if (chosen) await keep("tz", chosen);
    (opener.isConnected ? opener : form.querySelector("button[name=view]")).focus();
  }

  function address(changes) {
    const query = new URLSearchParams(new FormData(form));
    for (const [name, value] of Object.entries(changes)) query.set(name, value);
    return `${location.pathname}?${query}`;
  }

  function prefetch(month) {
    if (month) fetchPage(address({ month })).catch(() => {});
  }
}

function isCalm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
