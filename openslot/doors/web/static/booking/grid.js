// Keys of a date grid: arrows by day and week, Home and End within the week, Page Up and Page Down by month.

export function enhanceGrid(body, turn) {
  const table = body.closest("table");
  const isRightToLeft = getComputedStyle(table).direction === "rtl";
  table.setAttribute("role", "grid");
  table.addEventListener("keydown", move);
  refresh();

  function days() {
    return [...body.querySelectorAll("td")].filter((cell) => cell.textContent.trim()).map(target);
  }

  function target(cell) {
    return cell.querySelector("button") ?? cell;
  }

  function current() {
    return body.querySelector("[aria-pressed=true]") ?? body.querySelector("button") ?? days()[0];
  }

  function refresh(focused = current()) {
    for (const day of days()) day.tabIndex = day === focused ? 0 : -1;
  }

  function focus(day) {
    refresh(day);
    day.focus();
  }

  async function move(event) {
    const all = days();
    const at = all.indexOf(event.target);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const inWeek = [...event.target.closest("tr").cells].filter((cell) => cell.textContent.trim()).map(target);
    const ahead = isRightToLeft ? -1 : 1;
    const goals = {
      ArrowRight: at + ahead,
      ArrowLeft: at - ahead,
      ArrowDown: at + 7,
      ArrowUp: at - 7,
      Home: all.indexOf(inWeek[0]),
      End: all.indexOf(inWeek.at(-1)),
      PageDown: at + all.length,
      PageUp: at - all.length,
    };
    if (!(event.key in goals)) return;
    event.preventDefault();
    const goal = goals[event.key];
    if (all[goal]) return focus(all[goal]);
    if (!(await turn(goal < 0 ? -1 : 1))) return;
    const fresh = days();
    if (/^Page/.test(event.key)) return focus(fresh[Math.min(at, fresh.length - 1)]);
    focus(fresh[goal < 0 ? fresh.length + goal : goal - all.length] ?? fresh[0]);
  }

  return { refresh, current };
}
