// Shows only what the chosen calendar provider needs; without scripts the form shows everything.
const choice = document.querySelector("[data-provider]");
const address = document.querySelector("[data-address]");

function show() {
  for (const hint of document.querySelectorAll("[data-hint]")) hint.hidden = hint.dataset.hint !== choice.value;
  address.hidden = "known" in choice.selectedOptions[0].dataset;
}

if (choice && address) {
  choice.addEventListener("change", show);
  show();
}
