// The color's preview follows the field: the server's own stylesheet of a color says how it is shown.

const [typed, picker] = ["color", "picker"].map((id) => document.getElementById(id));

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
const own = document.querySelector("[name=which][value=own]");
const follow = async (color) => {
  const mine = (latest += 1);
  const answer = await fetch(`/static/accent/${color.slice(1)}.css`).catch(() => null);
  if (answer?.ok && mine === latest) show(await answer.text());
};

// The two fields show the same color; what is typed counts once it is a whole one.
picker.addEventListener("input", () => {
  own.checked = true;
  typed.value = picker.value;
  follow(picker.value);
});
typed.addEventListener("input", () => {
  own.checked = true;
  const color = typed.value.trim().toLowerCase();
  if (!/^#[0-9a-f]{6}$/.test(color)) return;
  picker.value = color;
  follow(color);
});
