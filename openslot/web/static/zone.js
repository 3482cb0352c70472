// Choose the browser's own time zone in `<select data-guess-zone>`, where nothing was chosen before.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

for (const select of document.querySelectorAll("select[data-guess-zone]")) {
  const known = [...select.options].some((option) => option.value === zone);
  if (known) select.value = zone;
}
