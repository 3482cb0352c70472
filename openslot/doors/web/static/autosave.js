// A form with `data-autosave` is saved while somebody types, and once more when its field or the page is left: whatever is
// done next, nothing that was typed is lost. Without this script, the form has its button.

const WAIT = 1000, FAILED = 0;
const waiting = new Map();

const tell = (form, words) => (form.querySelector("[data-told]").textContent = words);

async function send(form) {
  clearTimeout(waiting.get(form));
  if (!waiting.delete(form)) return;
  const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual", keepalive: true })
    .catch(() => null);
  if (waiting.has(form)) return;
  const isSaved = answer?.type === "opaqueredirect";
  tell(form, isSaved ? form.dataset.autosave : form.dataset.failed);
  if (!isSaved) waiting.set(form, FAILED);
}

function wait({ target }) {
  const form = target.closest?.("[data-autosave]");
  if (!form) return;
  clearTimeout(waiting.get(form));
  tell(form, "");
  waiting.set(form, setTimeout(() => send(form), WAIT));
}

const sendAll = () => [...waiting.keys()].forEach((form) => send(form));

document.addEventListener("input", wait);
document.addEventListener("focusout", ({ target }) => { const form = target.closest?.("[data-autosave]"); if (form) send(form); });
document.addEventListener("submit", ({ target }) => { clearTimeout(waiting.get(target)); waiting.delete(target); });
document.addEventListener("visibilitychange", () => { if (document.hidden) sendAll(); });
addEventListener("pagehide", sendAll);
// What could not be saved is asked about.
addEventListener("beforeunload", (event) => { if ([...waiting.values()].includes(FAILED)) event.preventDefault(); });
// What was typed before this script arrived.
for (const field of document.querySelectorAll("[data-autosave] textarea")) if (field.value !== field.defaultValue) wait({ target: field });
