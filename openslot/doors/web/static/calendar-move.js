// Moving a booking of the calendar by hand and by key; calendar.js loads this when somebody is about to.
// The form of a booking's own page decides and asks here, too.

const MOVES = { ArrowUp: "step", ArrowDown: "step", ArrowLeft: "step", ArrowRight: "step", Enter: "ask", Escape: "stop" };
const QUARTER = 15, NEAR = 20;
const isRight = getComputedStyle(document.documentElement).direction === "rtl";
let move = null;

const days = () => document.querySelector(".cal-days");
const clocks = () => [...document.querySelectorAll(".cal-clock")].filter((one) => one.checkVisibility());
const load = async (address, options) => {
  const answer = await fetch(address, options);
  return [answer, new DOMParser().parseFromString(await answer.text(), "text/html")];
};
const number = (element, letter) => Number(element.className.match(`\\b${letter}(\\d+)`)?.[1] ?? 0);
const minutes = (link, hour, ten, one) => number(link, hour) * 60 + number(link, ten) * 10 + number(link, one);
const hours = () => ({ from: number(days(), "h"), rows: number(days(), "H") });
const idOf = (link) => link.pathname.split("/").at(-1);
const pad = (number) => String(number).padStart(2, "0");
const clockTime = (minute) => `${pad(Math.floor(minute / 60))}:${pad(minute % 60)}`;
const write = (minute) => new Intl.DateTimeFormat(document.documentElement.lang, {
  hour: "numeric", minute: "2-digit", hourCycle: days().dataset.cycle, timeZone: "UTC",
}).format(minute * 60000);

const style = document.createElement("link");
style.rel = "stylesheet";
style.href = days().dataset.moveStyle;
document.head.append(style);

// Moving: the booking leaves a dashed place, and what it would become follows the pointer or the keys.

export const begin = (link) => {
  const began = minutes(link, "h", "m", "n"), length = minutes(link, "H", "M", "N");
  const target = document.createElement("p");
  const clock = link.closest(".cal-clock");
  target.className = `cal-target ${[...link.classList].find((one) => ["blue", "violet", "teal", "amber", "rose", "slate"].includes(one)) ?? ""}`;
  target.setAttribute("role", "status");
  move = { link, target, clock, from: clock, minute: began, began, length, open: new Map() };
  link.classList.add("moving");
  show(clock, move.minute);
  findOpenings(move);
};

const findOpenings = async (current) => {
  const [, page] = await load(`/bookings/${idOf(current.link)}/reschedule?day=${clocks()[0].dataset.on}`);
  if (move !== current) return;
  for (const { dataset } of page.querySelectorAll("input[name=start][data-at]")) {
    const [on, time] = dataset.at.split("T"), [hour, minute] = time.split(":").map(Number);
    current.open.set(on, [...(current.open.get(on) ?? []), hour * 60 + minute]);
  }
  for (const clock of clocks()) for (const minute of current.open.get(clock.dataset.on) ?? []) {
    const mark = document.createElement("i");
    mark.className = "cal-opening";
    put(mark, minute, 0);
    clock.append(mark);
  }
  show(current.clock, current.minute);
};

const put = (element, minute, length) => {
  const { from, rows } = hours(), whole = rows * 60;
  element.style.insetBlockStart = `${((minute - from * 60) / whole) * 100}%`;
  if (length) element.style.blockSize = `${(length / whole) * 100}%`;
};

const show = (clock, minute) => {
  const { from, rows } = hours();
  move.clock = clock;
  move.minute = Math.max(from * 60, Math.min((from + rows) * 60 - QUARTER, minute));
  move.target.textContent = days().dataset.to.replace("{time}", write(move.minute));
  const isOpen = move.open.size === 0 || isStart(clock, move.minute);
  move.target.classList.toggle("closed", !isOpen && !isBack());
  put(move.target, move.minute, move.length);
  if (move.target.parentElement !== clock) clock.append(move.target);
};

const isStart = (clock, minute) => (move.open.get(clock.dataset.on) ?? []).includes(minute);
const isBack = () => move.clock === move.from && move.minute === move.began;
const snap = (clock, minute) => {
  const open = move.open.get(clock.dataset.on) ?? [];
  const near = open.toSorted((one, other) => Math.abs(one - minute) - Math.abs(other - minute))[0];
  return near !== undefined && Math.abs(near - minute) <= NEAR ? near : Math.round(minute / QUARTER) * QUARTER;
};

const end = () => {
  if (!move) return;
  move.link.classList.remove("moving");
  move.target.remove();
  for (const mark of document.querySelectorAll(".cal-opening")) mark.remove();
  move.link.focus();
  move = null;
};

// The question, and the answer to a refusal, are those of the form.

const ask = async () => {
  if (isBack()) { end(); return; }
  const { link, clock, minute } = move;
  move.isAsking = true;
  const address = `/bookings/${idOf(link)}/reschedule?start=${clock.dataset.on}T${clockTime(minute)}`;
  const [, page] = await load(address);
  const dialog = document.getElementById("move");
  tell(dialog, page);
  dialog.showModal();
};

const tell = (dialog, page) => {
  const question = page.querySelector("[data-question]");
  const fault = page.getElementById("fault-start")?.textContent ?? page.querySelector("main h1")?.textContent;
  dialog.querySelector("[data-asked]").replaceChildren(...(question ? [document.importNode(question, true)] : []));
  dialog.querySelector("[data-refused]").hidden = Boolean(question);
  dialog.querySelector("[data-refused] .fault").textContent = fault;
};

document.addEventListener("submit", async (event) => {
  if (!event.target.closest("#move [data-asked]")) return;
  event.preventDefault();
  event.submitter.disabled = true;
  const [answer, page] = await load(event.target.action, { method: "POST", body: new URLSearchParams(new FormData(event.target)) });
  if (!answer.redirected) { tell(document.getElementById("move"), page); return; }
  location.assign(`${location.pathname}?date=${move.clock.dataset.on}&done=moved`);
});
document.addEventListener("click", (event) => {
  if (!event.target.closest("#move [data-keep]")) return;
  event.preventDefault();
  document.getElementById("move").close();
});
document.getElementById("move")?.addEventListener("close", end);

// By hand

export const drag = (link, pressed, latest) => {
  const box = link.getBoundingClientRect(), grabbed = pressed.clientY - box.top;
  const follow = (event) => {
    if (!event.buttons) { letGo(event); return; }
    if (!move && Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) < 6) return;
    if (!move) begin(link);
    const clock = clocks().find((one) => { const { left, right } = one.getBoundingClientRect(); return event.clientX >= left && event.clientX < right; });
    if (!clock) return;
    const { top, height } = clock.getBoundingClientRect(), { from, rows } = hours();
    show(clock, snap(clock, from * 60 + ((event.clientY - grabbed - top) / height) * rows * 60));
  };
  const stop = new AbortController();
  const letGo = (event) => {
    stop.abort();
    if (!move) return;
    link.addEventListener("click", (click) => click.preventDefault(), { once: true, capture: true });
    if (event.type === "pointercancel") end(); else ask();
  };
  addEventListener("pointermove", follow, { signal: stop.signal });
  addEventListener("pointerup", letGo, { signal: stop.signal });
  addEventListener("pointercancel", letGo, { signal: stop.signal });
  addEventListener("keydown", (event) => { if (MOVES[event.key] === "stop") { stop.abort(); end(); } }, { signal: stop.signal });
  if (pressed.pointerType === "touch") begin(link);
  follow(latest);
};

// By key

const step = (key) => {
  const all = clocks(), across = { ArrowLeft: -1, ArrowRight: 1 }[key] * (isRight ? -1 : 1);
  const at = all[Math.max(0, Math.min(all.length - 1, all.indexOf(move.clock) + (across || 0)))];
  const down = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (!down) { show(at, move.minute); return; }
  const open = (move.open.get(at.dataset.on) ?? []).filter((one) => (one - move.minute) * down > 0);
  const next = down > 0 ? Math.min(...open) : Math.max(...open);
  show(at, open.length ? next : move.minute + down * QUARTER);
};

// Return whether a key was meant for the booking that is moved.
export const press = (key) => {
  const deed = move && MOVES[key];
  if (deed === "step") step(key);
  else if (deed === "ask") ask();
  else if (deed === "stop") end();
  return Boolean(deed);
};
export const isMoving = () => Boolean(move);
