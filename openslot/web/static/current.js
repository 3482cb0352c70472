// Scroll a row of links that is wider than the screen to the one that leads to this page.

for (const link of document.querySelectorAll(".app > nav li [aria-current], .tabs [aria-current]")) {
  const row = link.closest("ul, .tabs");
  const place = link.getBoundingClientRect();
  const seen = row.getBoundingClientRect();
  row.scrollBy({ left: (place.left + place.right - seen.left - seen.right) / 2 });
}
