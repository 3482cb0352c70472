// How a week is changed in <week-grid>: by mouse and by keyboard.

const STEP = 15;
const REMOVES = { Delete: true, Backspace: true };

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

export const makeEdits = ({ CELL, DAY, readRange, write }) => ({
  // The fields

  addRow(day, start = "", end = "") {
    const row = this.template.content.firstElementChild.cloneNode(true);
    const inputs = row.querySelectorAll("input");
    [inputs[0].value, inputs[1].value] = [start, end];
    for (const one of row.querySelectorAll("[aria-label]")) one.ariaLabel = one.ariaLabel.replace("{day}", this.names[day]);
    this.days[day].querySelector(".ranges").append(row);
    this.number(day);
    return row;
  },

  number(day) {
    const rows = this.rows(day);
    rows.forEach((row, place) => {
      const [start, end] = row.querySelectorAll("input");
      start.name = `d${this.numbers[day]}.${place}.start`;
      end.name = `d${this.numbers[day]}.${place}.end`;
      row.querySelector("button").value = `remove ${this.numbers[day]}.${place}`;
    });
    this.days[day].querySelector("[data-empty]").hidden = rows.length > 0;
  },

  changeRows(button) {
    const [act, place] = button.value.split(" ");
    const day = this.numbers.indexOf(Number.parseInt(place, 10));
    if (act === "add") {
      this.addRow(day).querySelector("input").focus();
      return;
    }
    button.closest(".range").remove();
    this.number(day);
    this.load();
    this.days[day].querySelector("button[value^=add]")?.focus();
  },

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
  },

  announce(day, [start, end], isOpen) {
    this.status.textContent = `${this.names[day]} ${write(start)}–${write(end)}: ${isOpen ? this.dataset.open : this.dataset.closed}`;
  },

  // Changes

  open(day, from, to) {
    this.week[day].push([from, to]);
    this.save(day);
    this.announce(day, [from, to], true);
  },

  close(day, from, to) {
    const before = (day + 6) % 7;
    this.week[day] = cut(this.week[day], from, to);
    const late = cut(this.week[before], from + DAY, to + DAY);
    this.week[before] = late.filter(([start]) => start < DAY);
    this.week[day].push(...late.filter(([start]) => start >= DAY).map(([start, end]) => [start - DAY, end - DAY]));
    this.save(before, day);
    this.announce(day, [from, to], false);
  },

  replace(day, range, newDay, changed) {
    this.week[day] = this.week[day].filter((one) => one[0] !== range[0] || one[1] !== range[1]);
    this.week[newDay].push(changed);
    this.save(...new Set([day, newDay]));
    this.announce(newDay, changed, true);
  },

  rangeAt(day, minute) {
    const hits = (ranges, shift) => ranges.find(([start, end]) => start < minute + shift + CELL && minute + shift < end);
    const own = hits(this.week[day], 0);
    if (own) return [day, own];
    const before = (day + 6) % 7, late = hits(this.week[before], DAY);
    return late ? [before, late] : [day, null];
  },

  // By keyboard

  go(day, minute) {
    const cell = this.cells[Math.max(0, Math.min(6, day))][Math.max(0, Math.min(DAY / CELL - 1, minute / CELL))];
    this.setCurrent(cell);
    cell.focus();
    cell.scrollIntoView({ block: "nearest" });
  },

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
  },

  toggle(day, minute) {
    if (this.isOpen(day, minute)) this.close(day, minute, minute + CELL);
    else this.open(day, minute, minute + CELL);
  },

  paint(day, minute, down) {
    const next = minute + down * CELL;
    if (next < 0 || next >= DAY) return;
    if (this.isOpen(day, minute)) this.open(day, Math.min(minute, next), Math.max(minute, next) + CELL);
    else this.close(day, next, next + CELL);
    this.go(day, next);
  },

  shift(day, minute, by, onlyEnd) {
    const [owner, range] = this.rangeAt(day, minute);
    if (!range) return;
    const changed = onlyEnd ? [range[0], range[1] + by] : [range[0] + by, range[1] + by];
    const isValid = changed[0] >= 0 && changed[0] < DAY && changed[1] > changed[0] && changed[1] - changed[0] <= DAY;
    if (!isValid || (changed[1] - changed[0] === DAY && changed[0] > 0)) return;
    this.replace(owner, range, owner, changed);
    if (!onlyEnd && !this.isOpen(day, minute)) this.go(day, minute + Math.sign(by) * CELL);
  },

  remove(day, minute) {
    const [owner, range] = this.rangeAt(day, minute);
    if (!range) return;
    this.week[owner] = this.week[owner].filter((one) => one !== range);
    this.save(owner);
    this.announce(owner, range, false);
  },

  // By mouse

  minuteAt(event) {
    const box = this.body.getBoundingClientRect();
    const minute = ((event.clientY - box.top) / box.height) * DAY;
    return Math.max(0, Math.min(DAY, Math.round(minute / STEP) * STEP));
  },

  dayAt(event) {
    const boxes = this.cells.map((column) => column[0].getBoundingClientRect());
    const found = boxes.findIndex((box) => event.clientX >= box.left && event.clientX < box.right);
    return found < 0 ? null : found;
  },

  grab(event, latest) {
    const box = event.target.closest(".week-range"), cell = event.target.closest("[role=gridcell]");
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
    if (latest.type === "pointermove") move(latest);
    else if (latest.type === "pointerup") drop(latest);
  },

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
  },

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
  },
});
