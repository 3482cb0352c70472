// The frame of a page: the current link is in sight, the account menu closes, fields fetch their scripts, forms are watched.

for (const link of document.querySelectorAll("[aria-current]")) {
  const row = link.closest(".tabs, nav");
  if (!row) continue;
  const place = link.getBoundingClientRect();
  const seen = row.getBoundingClientRect();
  row.scrollBy({
    left: (place.left + place.right - seen.left - seen.right) / 2,
    top: Math.max(0, place.bottom - seen.bottom) + Math.min(0, place.top - seen.top),
  });
}

const { watch } = document.querySelector("[data-save-bar]").dataset;
document.addEventListener("focusin", ({ target }) => {
  if (target.dataset.module) import(target.dataset.module);
  if (target.form) import(watch);
});
if (document.activeElement.form || document.querySelector("form[data-watch], form .fault:not(:empty)")) import(watch);

const account = document.getElementById("account");

document.addEventListener("click", (event) => {
  if (!account.contains(event.target)) account.open = false;
});
account.addEventListener("keydown", (event) => {
  if (!account.open || !/^Esc/.test(event.key)) return;
  account.open = false;
  account.firstElementChild.focus();
});
for (const select of account.querySelectorAll("[data-send]")) {
  select.nextElementSibling.hidden = true;
  select.addEventListener("change", () => select.form.requestSubmit(select.nextElementSibling));
}
