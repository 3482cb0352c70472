// Charts: one column of a chart is in the order of the tab key, and the arrow keys go to the others.

for (const columns of document.querySelectorAll("[data-columns]")) {
  const all = [...columns.children];
  const isMirrored = () => getComputedStyle(columns).direction === "rtl";
  const enter = (column) => all.forEach((one) => { one.tabIndex = one === column ? 0 : -1; });
  enter(all.at(-1));
  columns.addEventListener("focusin", (event) => enter(event.target.closest("li")));
  columns.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const place = all.indexOf(document.activeElement);
    const next = { Home: 0, End: all.length - 1 }[event.key] ?? (way && place + (isMirrored() ? -way : way));
    if (place < 0 || next === undefined || !all[next]) return;
    event.preventDefault();
    all[next].focus();
  });
}
