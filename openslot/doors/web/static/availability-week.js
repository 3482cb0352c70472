// <week-grid>: the weekly hours as a grid to draw, move and resize ranges in, by mouse and by keyboard.
// The time fields of the form stay the truth: the grid reads them, and writes into them what was drawn. What changes the
// week is loaded when the pointer or the focus comes to the form.

const CELL = 30, DAY = 1440;
const KEYS = /^( |Arrow|Home|End|Page|Delete|Backspace)/;
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
    this.names = this.days.map((day) => day.querySelector("legend").textContent);
    // From Monday as 0; a week begins with the day that its reader has chosen.
    this.numbers = this.days.map((day) => Number(day.dataset.day));
    this.template = this.form.querySelector("template[data-range]");
    this.build();
    this.load();
    this.form.addEventListener("input", (event) => { if (event.target.closest(".range")) this.load(); });
    this.form.addEventListener("click", (event) => this.press(event));
    for (const kind of ["pointerover", "focusin"]) this.form.addEventListener(kind, () => this.loadEdits());
    this.addEventListener("keydown", (event) => this.type(event));
    this.addEventListener("focusin", (event) => { if (event.target.dataset.minute) this.current = event.target; });
    this.body.addEventListener("pointerdown", (event) => this.point(event));
    this.body.addEventListener("click", (event) => this.tap(event));
    document.getElementById(this.dataset.help).hidden = false;
    const first = Math.min(...this.week.flat().map(([start]) => start), 9 * 60);
    this.scroller.scrollTop = ((first - 60) / DAY) * this.body.offsetHeight;
  }

  loadEdits() {
    this.edits ??= import(this.dataset.edits).then(({ makeEdits }) => Object.assign(this, makeEdits({ CELL, DAY, readRange, write })));
    return this.edits;
  }

  async type(event) {
    if (!this.key && !KEYS.test(event.key)) return;
    if (!this.key) {
      event.preventDefault();
      await this.loadEdits();
    }
    this.key(event);
  }

  async point(event) {
    const box = event.target.closest(".week-range"), cell = event.target.closest("[role=gridcell]");
    if (event.button !== 0 || (!box && !cell)) return;
    // A finger that moves scrolls the page; one that taps opens half an hour.
    this.touched = !box && event.pointerType === "touch" ? cell : null;
    if (this.touched) return;
    event.preventDefault();
    let latest = event;
    const note = (next) => { latest = next; };
    for (const kind of ["pointermove", "pointerup"]) addEventListener(kind, note);
    if (!this.grab) await this.loadEdits();
    for (const kind of ["pointermove", "pointerup"]) removeEventListener(kind, note);
    this.grab(event, latest);
  }

  async tap(event) {
    const cell = event.target.closest("[role=gridcell]");
    if (!cell || cell !== this.touched) return;
    await this.loadEdits();
    this.toggle(Number(cell.dataset.day), Number(cell.dataset.minute));
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

  setCurrent(cell) {
    if (this.current) this.current.tabIndex = -1;
    this.current = cell;
    cell.tabIndex = 0;
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

  async press(event) {
    const button = event.target.closest("button[name=act]");
    if (!/^(add|remove) /.test(button?.value)) return;
    event.preventDefault();
    try {
      await this.loadEdits();
    } catch {
      return this.form.requestSubmit(button);
    }
    this.changeRows(button);
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
}

customElements.define("week-grid", WeekGrid);
