// Ctrl-K for the palette, `?` for the list of keys, `/` for the search, and `g` with a second key for a page.
// The palette is fetched at its first use. Without this script, its link leads to a page with the same list.

const links = document.querySelectorAll("[data-palette]");
let loaded;
let lastG = -Infinity;
// What is typed while the palette is on its way, how far the arrow keys went, and whether Enter followed; null: it is not.
let typed = null;
const EARLY = {
  ArrowDown: () => (typed.steps += 1),
  ArrowUp: () => (typed.steps -= 1),
  Enter: () => (typed.isSent = true),
  Escape: () => (typed = null),
};

const fetchPalette = async () => {
  const answer = await fetch(links[0].dataset.palette);
  if (!answer.ok || answer.redirected) throw new Error(`${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const style = document.importNode(page.querySelector("link"));
  const styled = new Promise((resolve) => (style.onload = style.onerror = resolve));
  document.head.append(style);
  document.body.append(...page.querySelectorAll("dialog"));
  const [palette] = await Promise.all([import(document.getElementById("palette").dataset.script), styled]);
  return palette;
};

const load = () => {
  loaded ??= fetchPalette().catch((fault) => {
    loaded = undefined;
    throw fault;
  });
  return loaded;
};

const use = (act) => load().then(act, () => location.assign("/help"));

const open = () => {
  typed ??= { text: "", steps: 0, isSent: false };
  use((palette) => {
    if (typed) palette.open(typed);
    typed = null;
  });
};

for (const link of links) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
}

// A field of a dialog that was just closed may keep the focus until the next frame.
const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]")?.checkVisibility() ?? false;

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    open();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (typed !== null) {
    event.preventDefault();
    if (event.key.length === 1) typed.text += event.key;
    else EARLY[event.key]?.();
    return;
  }
  if (isTyping(event.target)) return;
  if (document.querySelector("dialog:modal")) return;
  if (event.key === "?") {
    use((palette) => palette.showKeys());
    return;
  }
  if (event.key === "/") {
    event.preventDefault();
    const field = document.querySelector("[data-search]");
    if (field) field.focus();
    else location.assign("/bookings#q");
    return;
  }
  const isSecond = event.timeStamp - lastG < 1500;
  lastG = event.key === "g" ? event.timeStamp : -Infinity;
  if (event.key === "g") load().catch(() => {});
  if (isSecond) use((palette) => palette.go(event.key));
});

if (location.hash === "#q") document.getElementById("q")?.focus();
