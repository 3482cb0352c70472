// On a wide screen a booking of the list is shown beside it. Without this script, and with less room, it opens its own page.

const WIDE = "(min-width: 87.5rem)";
const list = document.querySelector("[data-beside]");
const panel = document.createElement("aside");
let chosen = null;
panel.className = "beside";

function close() {
  panel.remove();
  list.classList.remove("with-beside");
  chosen?.removeAttribute("aria-current");
  chosen?.focus();
}

async function open(row) {
  const answer = await fetch(row.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const booking = page.querySelector(".booking-page");
  if (!booking) return location.assign(row.href);
  for (const style of page.querySelectorAll("link[rel=stylesheet]")) {
    if (!document.querySelector(`link[href="${style.getAttribute("href")}"]`)) document.head.append(document.importNode(style));
  }
  booking.querySelector(".curl")?.remove();
  const button = Object.assign(document.createElement("button"), { type: "button", className: "button-small", textContent: list.dataset.close });
  button.addEventListener("click", close);
  panel.replaceChildren(button, document.importNode(booking, true));
  panel.setAttribute("aria-label", page.title.split(" – ")[0]);
  chosen?.removeAttribute("aria-current");
  chosen = row;
  row.setAttribute("aria-current", "true");
  list.append(panel);
  list.classList.add("with-beside");
  button.focus();
}

list.addEventListener("click", (event) => {
  const row = event.target.closest(".booking-row");
  if (!row || !matchMedia(WIDE).matches || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  open(row);
});
panel.addEventListener("keydown", (event) => ({ Escape: close })[event.key]?.());
