// A button that prints the page; without scripts it stays hidden.
const button = document.querySelector("[data-print]");
button.hidden = false;
button.addEventListener("click", () => window.print());
