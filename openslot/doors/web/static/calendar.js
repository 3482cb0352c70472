// The calendar of bookings: the panel of a booking, the line of now, and the way to other days.
// Without this script a booking opens its own page, and is moved by the form there.

const WIDE = "(min-width: 75rem)", MINUTE = 60000, LONG_PRESS = 400, STILL = 8;
const isRight = getComputedStyle(document.documentElement).direction === "rtl";
let loaded = Date.now(), mover = null, moves = null;

// What moves a booking is loaded when the pointer or the focus comes to one.

const loadMover = () => (mover ??= import(document.querySelector(".cal-days").dataset.move).then((module) => (moves = module)));
const find = (event) => event.target.closest?.("[data-movable]");
for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, (event) => { if (find(event)) loadMover(); });

document.addEventListener("pointerdown", async (event) => {
  const link = find(event);
  if (!link || event.button !== 0 || moves?.isMoving()) return;
  const isTouch = event.pointerType === "touch", stop = new AbortController();
  let latest = event;
  for (const kind of ["pointermove", "pointerup", "pointercancel"]) addEventListener(kind, (next) => { latest = next; }, { signal: stop.signal });
  // A finger that moves at once scrolls the page.
  const [{ drag }] = await Promise.all([loadMover(), isTouch && new Promise((done) => setTimeout(done, LONG_PRESS))]);
  stop.abort();
  const hasScrolled = isTouch && Math.hypot(latest.clientX - event.clientX, latest.clientY - event.clientY) > STILL;
  if (!hasScrolled && !/up|cancel/.test(latest.type)) drag(link, event, latest);
});
document.addEventListener("touchmove", (event) => { if (moves?.isMoving() && !event.target.closest("dialog")) event.preventDefault(); }, { passive: false });
document.addEventListener("contextmenu", (event) => { if (moves?.isMoving() && find(event)) event.preventDefault(); });
document.addEventListener("dragstart", (event) => { if (find(event)) event.preventDefault(); });

// A booking is shown beside the days where there is room.

const open = async (address) => {
  const answer = await fetch(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.querySelector(".cal").replaceWith(document.importNode(page.querySelector(".cal"), true));
  history.replaceState(null, "", address);
  loaded = Date.now();
};

document.addEventListener("click", (event) => {
  const link = event.target.closest(".cal-booking, .cal-chosen [data-close]");
  if (!link || !matchMedia(WIDE).matches || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
  event.preventDefault();
  const isClosing = "close" in link.dataset, asked = new URLSearchParams(location.search).get("date");
  const on = asked ?? document.querySelector(".cal-day.asked .cal-clock").dataset.on;
  const id = link.dataset.id ?? link.pathname.split("/").at(-1);
  open(`${location.pathname}?date=${on}${isClosing ? "" : `&booking=${id}`}`).then(() => (isClosing
    ? document.querySelector(".cal-booking") : document.querySelector(".cal-chosen [data-close]"))?.focus());
});

setInterval(() => {
  const now = document.querySelector(".now");
  if (now) now.style.translate = `0 calc(var(--hour) * ${(Date.now() - loaded) / MINUTE / 60})`;
}, MINUTE / 2);

// By key

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || isTyping || document.querySelector("dialog[open]")) return;
  if (moves?.isMoving()) {
    if (moves.press(event.key)) event.preventDefault();
    return;
  }
  const link = document.activeElement?.closest("[data-movable]");
  const way = { ArrowLeft: isRight ? "next" : "prev", ArrowRight: isRight ? "prev" : "next" }[event.key];
  if (event.key === "m" && link) loadMover().then(({ begin }) => begin(link));
  else if (way) document.querySelector(`.cal-step [rel=${way}]`).click();
  else if (event.key === "t") document.querySelector("[data-today]").click();
  else return;
  event.preventDefault();
});
