// Other views of the page, as the server renders them; those asked for a moment ago are kept.

const FRESH = 30_000;
const kept = new Map();

export function fetchPage(url) {
  const known = kept.get(url);
  if (known && performance.now() - known.at < FRESH) return known.page;
  const page = ask(url);
  kept.set(url, { page, at: performance.now() });
  page.catch(() => kept.delete(url));
  return page;
}

async function ask(url) {
  const response = await fetch(url, { headers: { accept: "text/html" } });
  if (!response.ok) throw new Error(`${response.status}`);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}
