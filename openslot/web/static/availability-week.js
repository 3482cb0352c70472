// <week-grid>: the weekly hours as a grid to draw, move and resize ranges in, by mouse and by keyboard.
// The time fields of the form stay the truth: the grid reads them, and writes into them what was drawn.

const STEP = 15, CELL = 30, DAY = 1440;
const REMOVES = { Delete: true, Backspace: true };
const CLOCK = /^(\d{1,2})(?:[:.h](\d{2}))? ?(?:([ap])\.?m\.?)?$/;

const write = (minute) => {
  const shown = minute > DAY ? minute - DAY : minute;
  return `${String(Math.floor(shown / 60)).padStart(2, "0")}:${String(shown % 60).padStart(2, "0")}`;
};

const read = (text) => {
  const found = CLOCK.exec(text.normalize("NFKC").trim().toLowerCase());
  if (!found) return null;
  const half = found[3];
  if (half && (Number(found[1]) < 1 || Number(found[1]) > 12)) return null;
  const hour = half ? (Number(found[1]) % 12) + (half === "p" ? 12 : 0) : Number(found[1]);
  const minute = Number(found[2] ?? 0), total = hour * 60 + minute;
  return minute < 60 && total <= DAY ? total : null;
};

const readRange = (start, end) => {
  const from = read(start), to = read(end);
  if (from === null || to === null || from === to || from === DAY) return null;
  return [from, to > from ? to : to + DAY];
};

const join = (ranges) => {
  const joined = [];
  for (const [start, end] of [...ranges].sort((one, other) => one[0] - other[0])) {
    const last = joined.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([start, end]);
  }
  return joined;
};

const cut = (ranges, from, to) => ranges.flatMap(([start, end]) =>
  [[start, Math.min(end, from)], [Math.max(start, to), end]].filter(([a, b]) => a < b));

const make = (tag, attributes, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

class WeekGrid extends HTMLElement {
  connectedCallback() {
    this.form = this.closest("form");
    this.days = [...this.form.querySelectorAll(".week-day")];
    this.names = this.days.map((day) => day.dataset.name);
    // From Monday as 0; a week begins with the day that its reader has chosen.
    this.numbers = this.days.map((day) => Number(day.dataset.day));
    this.template = this.form.querySelector("template[data-range]");
    this.build();
    this.load();
    this.form.addEventListener("input", (event) => { if (event.target.closest(".range")) this.load(); });
    this.form.addEventListener("click", (event) => this.press(event));
    this.addEventListener("keydown", (event) => this.key(event));
    this.addEventListener("focusin", (event) => { if (event.target.dataset.minute) this.current = event.target; });
    this.body.addEventListener("pointerdown", (event) => this.grab(event));
    document.getElementById(this.dataset.help).hidden = false;
    const first = Math.min(...this.week.flat().map(([start]) => start), 9 * 60);
    this.scroller.scrollTop = ((first - 60) / DAY) * this.body.offsetHeight;
  }

  build() {
    const length = matchMedia("(max-width: 44rem)").matches ? "narrow" : "short";
    const weekday = new Intl.DateTimeFormat(document.documentElement.lang, { weekday: length, timeZone: "UTC" });
    const head = make("div", { class: "week-head", role: "row" }, make("span", { role: "columnheader" }, make("span", { class: "unseen" }, this.dataset.label)));
    this.names.forEach((name, day) => head.append(
      make("span", { role: "columnheader", "aria-label": name }, weekday.format(Date.UTC(2024, 0, 1 + this.numbers[day])))));
    this.body = make("div", { class: "week-body", role: "rowgroup" });
    this.cells = this.names.map(() => []);
    for (let minute = 0; minute < DAY; minute += CELL) {
      const time = minute % 60 ? make("span", { class: "unseen" }, write(minute)) : write(minute);
      const row = make("div", { class: "week-row", role: "row" }, make("span", { role: "rowheader", dir: "ltr" }, time));
      this.names.forEach((_, day) => {
        const cell = make("span", { role: "gridcell", tabindex: "-1", "data-day": day, "data-minute": minute });
        this.cells[day].push(cell);
        row.append(cell);
      });
      this.body.append(row);
    }
    this.scroller = make("div", { class: "week-scroll", role: "presentation" }, this.body);
    this.status = make("p", { class: "unseen", role: "status" });
    this.append(make("div", { role: "grid", "aria-label": this.dataset.label, "aria-multiselectable": "true" }, head, this.scroller), this.status);
    this.setCurrent(this.cells[0][18]);
  }

  // Between the fields and the week

  rows(day) { return [...this.days[day].querySelectorAll(".range")]; }

  load() {
    this.week = this.days.map((_, day) => this.rows(day).flatMap((row) => {
      const range = readRange(...[...row.querySelectorAll("input")].map((input) => input.value));
      return range ? [range] : [];
    }));
    this.draw();
  }

  save(...days) {
    for (const day of days) {
      this.week[day] = join(this.week[day]);
      const rows = this.rows(day);
      // What can't be read was typed by hand, and is left to be corrected.
      const wrong = rows.filter((row) => {
        const [start, end] = [...row.querySelectorAll("input")].map((input) => input.value.trim());
        return (start || end) && !readRange(start, end);
      });
      for (const row of rows) if (!wrong.includes(row)) row.remove();
      for (const [start, end] of this.week[day]) this.addRow(day, write(start), write(end));
      for (const row of wrong) this.days[day].querySelector(".ranges").append(row);
      this.number(day);
    }
    this.draw();
  }

  addRow(day, start = "", end = "") {
    const row = this.template.content.firstElementChild.cloneNode(true);
    const inputs = row.querySelectorAll("input");
    [inputs[0].value, inputs[1].value] = [start, end];
    for (const one of row.querySelectorAll("[aria-label]")) one.ariaLabel = one.ariaLabel.replace("{day}", this.names[day]);
    this.days[day].querySelector(".ranges").append(row);
    this.number(day);
    return row;
  }

  number(day) {
    const rows = this.rows(day);
    rows.forEach((row, place) => {
      const [start, end] = row.querySelectorAll("input");
      start.name = `d${this.numbers[day]}.${place}.start`;
      end.name = `d${this.numbers[day]}.${place}.end`;
      row.querySelector("button").value = `remove ${this.numbers[day]}.${place}`;
    });
    this.days[day].querySelector("[data-empty]").hidden = rows.length > 0;
  }

  press(event) {
    const [act, place] = event.target.closest("button[name=act]")?.value.split(" ") ?? [];
    const day = this.numbers.indexOf(Number.parseInt(place, 10));
    if (act === "add") {
      event.preventDefault();
      this.addRow(day).querySelector("input").focus();
    } else if (act === "remove") {
      event.preventDefault();
      event.target.closest(".range").remove();
      this.number(day);
      this.load();
      this.days[day].querySelector("button[value^=add]")?.focus();
    }
  }

  // The week on the screen

  isOpen(day, from, to = from + CELL) {
    const touches = (ranges, a, b) => ranges.some(([start, end]) => start < b && a < end);
    return touches(this.week[day], from, to) || touches(this.week[(day + 6) % 7], from + DAY, to + DAY);
  }

  draw() {
    this.cells.forEach((column, day) => column.forEach((cell, place) => {
      const isOpen = this.isOpen(day, place * CELL);
      cell.ariaSelected = String(isOpen);
      cell.ariaLabel = `${this.names[day]} ${write(place * CELL)}, ${isOpen ? this.dataset.open : this.dataset.closed}`;
    }));
    for (const box of this.body.querySelectorAll(".week-range")) box.remove();
    this.week.forEach((ranges, day) => ranges.forEach(([start, end]) => {
      this.drawBox(day, day, start, Math.min(end, DAY), [start, end], end > DAY ? "ends-later" : "");
      if (end > DAY) this.drawBox((day + 1) % 7, day, 0, end - DAY, [start, end], "began-before");
    }));
  }

  drawBox(column, day, from, to, range, kind) {
    const box = make("span", { class: `week-range ${kind}`, "aria-hidden": "true", dir: "ltr" }, kind === "began-before" ? "" : `${write(range[0])}–${write(range[1])}`);
    if (kind !== "began-before") box.append(make("span", { class: "edge", "data-edge": "top" }));
    if (kind !== "ends-later") box.append(make("span", { class: "edge", "data-edge": "bottom" }));
    Object.assign(box, { day, range, isRest: kind === "began-before" });
    box.style.gridColumn = `${column + 2} / ${column + 3}`;
    box.style.insetInline = "0";
    box.style.insetBlockStart = `${(from / DAY) * 100}%`;
    box.style.blockSize = `${((to - from) / DAY) * 100}%`;
    this.body.append(box);
  }

  announce(day, [start, end], isOpen) {
    this.status.textContent = `${this.names[day]} ${write(start)}–${write(end)}: ${isOpen ? this.dataset.open : this.dataset.closed}`;
  }

  // Changes

  open(day, from, to) {
    this.week[day].push([from, to]);
    this.save(day);
    this.announce(day, [from, to], true);
  }

  close(day, from, to) {
    const before = (day + 6) % 7;
    this.week[day] = cut(this.week[day], from, to);
    const late = cut(this.week[before], from + DAY, to + DAY);
    this.week[before] = late.filter(([start]) => start < DAY);
    this.week[day].push(...late.filter(([start]) => start >= DAY).map(([start, end]) => [start - DAY, end - DAY]));
    this.save(before, day);
    this.announce(day, [from, to], false);
  }

  replace(day, range, newDay, changed) {
    this.week[day] = this.week[day].filter((one) => one[0] !== range[0] || one[1] !== range[1]);
    this.week[newDay].push(changed);
    this.save(...new Set([day, newDay]));
    this.announce(newDay, changed, true);
  }

  rangeAt(day, minute) {
    const hits = (ranges, shift) => ranges.find(([start, end]) => start < minute + shift + CELL && minute + shift < end);
    const own = hits(this.week[day], 0);
    if (own) return [day, own];
    const before = (day + 6) % 7, late = hits(this.week[before], DAY);
    return late ? [before, late] : [day, null];
  }

  // By keyboard

  setCurrent(cell) {
    if (this.current) this.current.tabIndex = -1;
    this.current = cell;
    cell.tabIndex = 0;
  }

  go(day, minute) {
    const cell = this.cells[Math.max(0, Math.min(6, day))][Math.max(0, Math.min(DAY / CELL - 1, minute / CELL))];
    this.setCurrent(cell);
    cell.focus();
    cell.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    if (!event.target.dataset.minute || event.metaKey) return;
    const day = Number(event.target.dataset.day), minute = Number(event.target.dataset.minute);
    const across = getComputedStyle(this).direction === "rtl" ? -1 : 1;
    const down = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const moves = {
      ArrowUp: [day, minute - CELL], ArrowDown: [day, minute + CELL],
      ArrowLeft: [day - across, minute], ArrowRight: [day + across, minute],
      Home: event.ctrlKey ? [0, 0] : [0, minute], End: event.ctrlKey ? [6, DAY - CELL] : [6, minute],
      PageUp: [day, minute - 8 * CELL], PageDown: [day, minute + 8 * CELL],
    };
    if (event.altKey && down) this.shift(day, minute, down * STEP, event.shiftKey);
    else if (event.altKey) return;
    else if (event.shiftKey && down) this.paint(day, minute, down);
    else if (moves[event.key]) this.go(...moves[event.key]);
    else if (event.key === " ") this.toggle(day, minute);
    else if (REMOVES[event.key]) this.remove(day, minute);
    else return;
    event.preventDefault();
  }

  toggle(day, minute) {
    if (this.isOpen(day, minute)) this.close(day, minute, minute + CELL);
    else this.open(day, minute, minute + CELL);
  }

  paint(day, minute, down) {
    const next = minute + down * CELL;
    if (next < 0 || next >= DAY) return;
    if (this.isOpen(day, minute)) this.open(day, Math.min(minute, next), Math.max(minute, next) + CELL);
    else this.close(day, next, next + CELL);
    this.go(day, next);
  }

  shift(day, minute, by, onlyEnd) {
    const [owner, range] = this.rangeAt(day, minute);
    if (!range) return;
    const changed = onlyEnd ? [range[0], range[1] + by] : [range[0] + by, range[1] + by];
    const isValid = changed[0] >= 0 && changed[0] < DAY && changed[1] > changed[0] && changed[1] - changed[0] <= DAY;
    if (!isValid || (changed[1] - changed[0] === DAY && changed[0] > 0)) return;
    this.replace(owner, range, owner, changed);
    if (!onlyEnd && !this.isOpen(day, minute)) this.go(day, minute + Math.sign(by) * CELL);
  }

  remove(day, minute) {
    const [owner, range] = this.rangeAt(day, minute);
    if (!range) return;
    this.week[owner] = this.week[owner].filter((one) => one !== range);
    this.save(owner);
    this.announce(owner, range, false);
  }

  // By mouse

  minuteAt(event) {
    const box = this.body.getBoundingClientRect();
    const minute = ((event.clientY - box.top) / box.height) * DAY;
    return Math.max(0, Math.min(DAY, Math.round(minute / STEP) * STEP));
  }

  dayAt(event) {
    const boxes = this.cells.map((column) => column[0].getBoundingClientRect());
    const found = boxes.findIndex((box) => event.clientX >= box.left && event.clientX < box.right);
    return found < 0 ? null : found;
  }

  grab(event) {
    if (event.button !== 0) return;
    const box = event.target.closest(".week-range"), cell = event.target.closest("[role=gridcell]");
    if (!box && !cell) return;
    if (!box && event.pointerType === "touch") {
      // A finger that moves scrolls the page; one that taps opens half an hour.
      cell.addEventListener("click", () => this.toggle(Number(cell.dataset.day), Number(cell.dataset.minute)), { once: true });
      return;
    }
    event.preventDefault();
    const change = box ? this.begin(event, box) : this.beginDrawing(event, cell);
    const move = (later) => { change.to(later); };
    const drop = (later) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", drop);
      removeEventListener("pointercancel", stop);
      change.drop(later);
    };
    const stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", drop);
      this.draw();
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", drop);
    addEventListener("pointercancel", stop, { once: true });
  }

  beginDrawing(event, cell) {
    const day = Number(cell.dataset.day), from = Number(cell.dataset.minute);
    let drawn = [from, from + CELL];
    return {
      to: (later) => {
        const to = this.minuteAt(later);
        drawn = to > from ? [from, to] : [to, from + CELL];
        this.draw();
        this.drawBox(day, day, ...drawn, drawn, "");
      },
      drop: () => { this.open(day, ...drawn); this.setCurrent(cell); cell.focus({ preventScroll: true }); },
    };
  }

  begin(event, box) {
    const { day, range, isRest } = box, [start, end] = range, grabbed = this.minuteAt(event) + (isRest ? DAY : 0);
    const edge = event.target.dataset.edge;
    let newDay = day, changed = range;
    const to = (later) => {
      const minute = this.minuteAt(later) + (isRest ? DAY : 0);
      if (edge === "top") changed = [Math.min(minute, end - STEP, DAY - STEP), end];
      else if (edge === "bottom") changed = [start, Math.max(minute, start + STEP)];
      else {
        const over = this.dayAt(later);
        const moved = Math.max(0, Math.min(DAY - STEP, start + minute - grabbed));
        newDay = over === null ? newDay : (over + (isRest ? 6 : 0)) % 7;
        changed = [moved, moved + end - start];
      }
      if (changed[1] - changed[0] > DAY || (changed[1] - changed[0] === DAY && changed[0] > 0)) changed = [changed[0], changed[0] + DAY - STEP];
      const kept = this.week;
      this.week = kept.map((ranges) => ranges.filter((one) => one !== range));
      this.week[newDay] = [...this.week[newDay], changed];
      this.draw();
      this.week = kept;
    };
    return {
      to,
      drop: () => {
        if (changed !== range) this.replace(day, range, newDay, changed);
        const cell = this.cells[newDay][Math.min(Math.floor(changed[0] / CELL), DAY / CELL - 1)];
        this.setCurrent(cell);
        cell.focus({ preventScroll: true });
      },
    };
  }
}

customElements.define("week-grid", WeekGrid);
