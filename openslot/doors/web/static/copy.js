// Copy buttons: `<button data-copy="id of the text" data-copied="…" data-failed="…" hidden>`; without this script they stay hidden.

const say = (button, words) => {
  const before = (button.dataset.words ??= button.textContent);
  button.textContent = words;
  clearTimeout(button.timer);
  button.timer = setTimeout(() => { button.textContent = before; }, 4000);
};

const select = (element) => {
  if (element.select) {
    element.focus();
    element.select();
    return;
  }
  getSelection().selectAllChildren(element);
};

const copy = async (element) => {
  try {
    await navigator.clipboard.writeText(element.value ?? element.textContent);
    return true;
  } catch {
    // Without https there is no clipboard for scripts; the text is marked for the person's own keys.
    select(element);
    return document.execCommand("copy");
  }
};

for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  button.setAttribute("aria-live", "polite");
  const done = await copy(document.getElementById(button.dataset.copy));
  say(button, done ? button.dataset.copied : button.dataset.failed);
});
