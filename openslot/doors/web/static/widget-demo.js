// Lists what the widgets on the demo page tell their site.
const log = document.querySelector("[data-log]");

for (const type of ["ready", "slotSelected", "booked", "requested", "rescheduled", "cancelled", "error"]) {
  // In the capture phase, because errors do not bubble.
  document.addEventListener(type, ({ target, detail }) => {
    if (target.localName !== "openslot-booking") return;
    const entry = document.createElement("li");
    const name = document.createElement("code");
    name.textContent = `${target.getAttribute("mode") ?? "inline"}: ${type}`;
    const told = document.createElement("code");
    told.textContent = JSON.stringify(detail);
    entry.append(name, " ", told);
    log.prepend(entry);
  }, true);
}
