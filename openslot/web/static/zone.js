// Choose the browser's own time zone in `<select data-guess-zone>`, where nothing was chosen before.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
// Some browsers use outdated names, such as Asia/Calcutta.
const isZone = (option) => option.value === zone || option.dataset.former?.split(" ").includes(zone);

for (const select of document.querySelectorAll("select[data-guess-zone]")) {
  const own = [...select.options].find(isZone);
  if (own) select.value = own.value;
}
