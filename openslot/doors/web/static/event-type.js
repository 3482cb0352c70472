// One event type: what the preview and rows need is loaded when the form is changed, and the code for other sites opens in
// a dialog. Without this script, buttons and links do the same by new pages.

const form = document.querySelector("[data-offer]");
let loaded;
const load = () => (loaded ??= import(form.dataset.offer));
const follow = () => load().then((preview) => preview.askSoon(), () => {});

// What a browser kept over a reload is not what the frame has loaded.
const isKept = (field) =>
  field.options ? [...field.options].some((one) => one.selected !== one.defaultSelected)
  : /^(checkbox|radio)$/.test(field.type) ? field.checked !== field.defaultChecked
  : !/^(hidden|fieldset)$/.test(field.type) && (field.defaultValue ?? "") !== field.value && field.tagName !== "BUTTON";

document.querySelector("[data-preview-button]").hidden = true;
form.addEventListener("focusin", load, { once: true });
form.addEventListener("input", follow);
form.addEventListener("submit", async (event) => {
  const button = event.submitter;
  if (button?.name !== "act" || form.dataset.plain) return;
  event.preventDefault();
  try {
    await (await load()).change(button);
  } catch {
    form.dataset.plain = "true";
    form.requestSubmit(button);
  }
});
// A field in a folded section must be seen before the browser can say what is wrong with it.
form.addEventListener("invalid", (event) => {
  for (let fold = event.target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}, true);
if (form.dataset.watch || [...form.elements].some(isKept)) follow();

// The code for other sites is loaded when it is asked for.
for (const link of document.querySelectorAll("[data-opens]")) {
  link.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    try {
      const { open } = await import(link.dataset.opens);
      await open(document.getElementById("embed"), link.href);
    } catch {
      location.assign(link.href);
    }
  });
}
