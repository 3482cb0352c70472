// Scroll a row of links that is wider than the screen to the one that leads to this page.

for (const link of document.querySelectorAll("[aria-current]")) {
  const row = link.closest("ul, .tabs");
  if (!row) continue;
  const place = link.getBoundingClientRect();
  const seen = row.getBoundingClientRect();
  row.scrollBy({ left: (place.left + place.right - seen.left - seen.right) / 2 });
}
