// The pages with a calendar: choose a time and fill in the form without leaving the page.

import { enhanceForm } from "./form.js";
import { enhancePicker } from "./picker.js";

const picker = document.querySelector("[data-picker]");
const details = document.querySelector("[data-details]");
const form = enhanceForm(details.querySelector("[data-form]"));
let chosen = null;
if (picker) enhancePicker(picker, { open, fits, refresh });

function open(button) {
  chosen = button;
  form.choose(button.value, ...words(button));
  show(true);
  // On a touch screen a field in focus would cover the page with a keyboard.
  (matchMedia("(pointer: fine)").matches ? form.firstField() : details.querySelector("h2")).focus();
  history.pushState({ start: button.value }, "");
}

function words(button) {
  return [button.closest(".day").querySelector("h3").textContent, button.firstChild.textContent];
}

// The visitor's own time zone may arrive after a time was chosen: the form tells that time in the same zone.
function find(page) {
  return page.querySelector(`button[name=start][value="${chosen.value}"]`);
}

function fits(page) {
  return details.hidden || !chosen || find(page) !== null;
}

function refresh() {
  if (details.hidden || !chosen) return;
  chosen = find(picker);
  form.show(...words(chosen));
}

function close() {
  form.leave();
  show(false);
  (chosen?.isConnected ? chosen : picker.querySelector("[data-part=times] button"))?.focus();
}

function show(isFilling) {
  picker.hidden = isFilling;
  details.hidden = !isFilling;
  picker.closest(".booker").classList.toggle("filling", isFilling);
  scrollTo({ top: 0 });
}

if (picker) {
  details.querySelector("[data-back]").addEventListener("click", (event) => {
    event.preventDefault();
    history.back();
  });
  addEventListener("popstate", (event) => {
    if (!details.hidden && !event.state?.start) close();
    else if (details.hidden && event.state?.start) history.back();
  });
}
