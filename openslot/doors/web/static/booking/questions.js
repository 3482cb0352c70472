// Questions that depend on earlier answers: without this script all of them stay, each with the words that say when.

export function ask(form) {
  const change = () => form.querySelectorAll("[data-if]").forEach((part) => show(part, [...new FormData(form)]));
  form.addEventListener("input", change);
  change();
}

function show(part, given) {
  const key = part.dataset.if;
  const values = JSON.parse(part.dataset.is);
  const isChosen = ([name, value]) => (name === `answers.${key}` || name.startsWith(`picks.${key}.`)) && values.includes(value);
  const isAsked = values.length ? given.some(isChosen) : given.some(([name]) => name === `checks.${key}`);
  // What is disabled is neither sent nor checked, and decides nothing.
  part.hidden = part.disabled = !isAsked;
  part.querySelector(".hint").hidden = true;
  const control = part.querySelector("input:not([name^='picks.']), select, textarea");
  if (control) control.required = "required" in part.dataset;
}
