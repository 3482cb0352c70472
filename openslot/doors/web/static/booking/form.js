// The booking form: sent to the API; what the API refuses is sent as the plain form, whose answer says what to do.

import { adopt, answered, heldFor, hold, keep, release } from "./holds.js";

export function enhanceForm(form) {
  const field = (name) => form.querySelector(`[name="${name}"]`);
  const eventType = form.dataset.eventType;
  const token = new URLSearchParams(location.search).get("token");
  const button = form.querySelector(".button-main");
  let sent = {};

  if (eventType) {
    adopt(field("hold").value, startOf());
    if (form.querySelector("[data-if]")) import("./questions.js").then(({ ask }) => ask(form));
    form.addEventListener("submit", book);
    if (form.dataset.refused) sayRefused(form.dataset.refused);
  }
  addEventListener("pageshow", (event) => {
    if (event.persisted) button.disabled = false;
  });

  function startOf() {
    return (form.querySelector("[name=start]:checked") ?? form.querySelector("[name=start]:not([type=radio])"))?.value;
  }

  function minutesOf() {
    return Number(field("duration")?.value) || undefined;
  }

  function show(day, time) {
    form.querySelector("[data-chosen-day]").textContent = day;
    form.querySelector("[data-chosen-time]").textContent = time;
  }

  async function choose(start, day, time) {
    show(day, time);
    field("start").value = start;
    tell("slotSelected", { eventTypeId: eventType, startTime: start });
    if (eventType && !(await hold(eventType, start, token, minutesOf())) && field("start").value === start) {
      // It was taken a moment ago: the page of this time says so, and offers the nearest ones.
      const query = new URL(form.action).searchParams;
      query.set("start", start);
      query.set("tz", field("tz").value);
      if (minutesOf()) query.set("duration", minutesOf());
      location.assign(`${location.pathname}?${query}`);
    }
  }

  async function book(event) {
    // Robots get the answer of the plain form.
    if (field("website").value) return;
    event.preventDefault();
    button.disabled = true;
    form.querySelector("[data-problem]").hidden = true;
    await answered();
    const start = startOf();
    // The plain form knows the price that was seen, weeks, location, and what the box for messages says.
    if ("plain" in form.dataset || field("messages")?.checked) return sendPlain(start);
    const body = JSON.stringify(wanted(start));
    if (sent.body !== body) sent = { body, key: newKey() };
    try {
      const headers = { "content-type": "application/json", "idempotency-key": sent.key };
      const response = await fetch("/api/bookings", { method: "POST", headers, body });
      if (response.ok) return arrive(await response.json());
    } catch {
      return complain();
    }
    sendPlain(start);
  }

  function sendPlain(start) {
    field("hold").value = heldFor(start) ?? "";
    keep();
    HTMLFormElement.prototype.submit.call(form);
  }

  function wanted(start) {
    const typed = new FormData(form);
    const answers = {};
    for (const [name, value] of typed) {
      if (name.startsWith("answers.") && value.trim()) answers[name.slice(8)] = value;
      if (name.startsWith("checks.")) answers[name.slice(7)] = true;
      if (name.startsWith("picks.")) (answers[name.split(".")[1]] ??= []).push(value);
    }
    const notes = typed.get("notes").trim();
    const holdId = heldFor(start);
    return {
      eventTypeId: eventType,
      startTime: start,
      durationMinutes: minutesOf(),
      inviteeName: typed.get("name"),
      inviteeEmail: typed.get("email"),
      inviteeTimezone: typed.get("tz"),
      inviteeLocale: form.dataset.locale,
      answers,
      guests: typed.get("guests").split(/[\s,;]+/).filter(Boolean),
      ...(notes && { notes }),
      ...(holdId && { holdId }),
      ...(token && { token }),
      source: typed.get("source") || undefined,
    };
  }

  function arrive(booking) {
    keep();
    const query = new URLSearchParams(location.search);
    for (const name of ["date", "shown", "month", "start", "view"]) query.delete(name);
    query.set("done", "booked");
    location.assign(`${new URL(booking.manageUrl).pathname}?${query}`);
  }

  function sayRefused(code) {
    tell("error", { code });
    // Browsers ignore the attribute in frames of other sites.
    form.querySelector("[autofocus]")?.focus();
  }

  function complain() {
    const problem = form.querySelector("[data-problem]");
    problem.textContent = form.dataset.offline;
    problem.hidden = false;
    button.disabled = false;
    button.focus();
    tell("error", { code: "offline" });
  }

  function firstField() {
    const fields = [...form.querySelectorAll("input:not([type=hidden], #website), select, textarea")];
    return fields.find((one) => !one.value && one.checkVisibility()) ?? form.querySelector("h2");
  }

  return { choose, show, leave: release, firstField };
}

export function tell(name, detail) {
  document.dispatchEvent(new CustomEvent(`openslot:${name}`, { detail }));
}

function newKey() {
  return globalThis.crypto?.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
}
