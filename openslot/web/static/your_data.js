// Keeps the progress of an export up to date; without scripts, reloading the page does the same.
const every = 3000;

async function refresh() {
  const answer = await fetch(location.pathname, { headers: { accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [now, next] = [document, fresh].map((page) => page.querySelector("#exports")?.closest("section"));
  if (!now || !next) return;
  if (!next.querySelector("progress")) {
    document.querySelector(".notice[role=status]")?.remove();
    now.replaceWith(next);
    return;
  }
  now.querySelector("#exports").replaceWith(next.querySelector("#exports"));
  setTimeout(refresh, every);
}

setTimeout(refresh, every);
