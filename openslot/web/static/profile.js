// The color's preview follows the field: the server's own stylesheet of a color says how it is shown.

const field = document.getElementById("color");

const read = (styles, name) => {
  const found = styles.match(new RegExp(`--${name}:light-dark\\((#[0-9a-f]{6}),(#[0-9a-f]{6})\\)`));
  return found ? { light: found[1], dark: found[2] } : null;
};

const show = (styles) => {
  for (const swatch of document.querySelectorAll("[data-swatch]")) {
    for (const part of swatch.querySelectorAll("[data-fill]")) {
      const colors = read(styles, part.dataset.fill);
      if (colors) part.setAttribute("fill", colors[swatch.dataset.swatch]);
    }
  }
};

let latest = 0;
field.addEventListener("input", async () => {
  document.querySelector("[name=which][value=own]").checked = true;
  const mine = (latest += 1);
  const answer = await fetch(`/static/accent/${field.value.slice(1)}.css`).catch(() => null);
  if (answer?.ok && mine === latest) show(await answer.text());
});
