// Mark in the contents which part of the page is being read.

const links = new Map();
for (const link of document.querySelectorAll(".contents a")) {
  const part = document.getElementById(link.hash.slice(1));
  if (part) links.set(part, link);
}

let current = null;
const mark = () => {
  const line = innerHeight / 4;
  let read = null;
  for (const part of links.keys()) {
    if (part.getBoundingClientRect().top <= line) read = part;
  }
  if (read === current) return;
  links.get(current)?.removeAttribute("aria-current");
  links.get(read)?.setAttribute("aria-current", "true");
  current = read;
};

addEventListener("scroll", () => requestAnimationFrame(mark), { passive: true });
mark();
