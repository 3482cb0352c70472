// The list of event types: rows are dragged by mouse, and moved by Alt with an arrow key. Without this script, buttons do the same.

function order(list) {
  let dragged = null;
  const move = (row, before) => {
    const sent = row.querySelector("[data-move]");
    sent.elements.before.value = before;
    HTMLFormElement.prototype.submit.call(sent);
  };
  const unmark = () => {
    for (const row of list.children) row.classList.remove("over", "over-end", "dragged");
  };
  const isLate = (row, event) => event.clientY > row.getBoundingClientRect().top + row.offsetHeight / 2;
  for (const row of list.children) row.draggable = true;
  list.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("li");
    dragged.classList.add("dragged");
    event.dataTransfer.effectAllowed = "move";
  });
  list.addEventListener("dragover", (event) => {
    const row = event.target.closest("li");
    if (!dragged || !row) return;
    event.preventDefault();
    for (const one of list.children) one.classList.remove("over", "over-end");
    row.classList.add(isLate(row, event) ? "over-end" : "over");
  });
  list.addEventListener("drop", (event) => {
    const row = event.target.closest("li");
    if (!dragged || !row) return;
    event.preventDefault();
    const next = isLate(row, event) ? row.nextElementSibling : row;
    if (next !== dragged && row !== dragged) move(dragged, next?.dataset.id ?? "");
  });
  list.addEventListener("dragend", () => {
    unmark();
    dragged = null;
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowUp: "up", ArrowDown: "down" }[event.key];
    if (!event.altKey || !by) return;
    event.preventDefault();
    event.target.closest("li")?.querySelector(`[data-move=${by}] button:enabled`)?.click();
  });
}

for (const list of document.querySelectorAll("[data-order]")) order(list);
