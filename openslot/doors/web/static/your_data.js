// Keeps the progress of an export up to date; without scripts, reloading the page does the same.
const PAUSE = 3000;

// Show what has changed; what has not keeps its focus. Returns whether the export is still under way.
const show = (text) => {
  const page = new DOMParser().parseFromString(text, "text/html");
  const [shown, fresh] = [document, page].map((each) => each.querySelector("#exports")?.closest("section"));
  if (!shown || !fresh) return false;
  if (!fresh.querySelector("progress")) {
    document.querySelector(".notice[role=status]")?.remove();
    shown.replaceWith(fresh);
    return false;
  }
  const [list, next] = [shown, fresh].map((each) => each.querySelector("#exports"));
  if (list.innerHTML !== next.innerHTML) list.replaceWith(next);
  return true;
};

const look = async () => {
  try {
    const answer = await fetch(location.pathname, { headers: { accept: "text/html" } });
    if (answer.redirected) return;
    if (answer.ok && !show(await answer.text())) return;
  } catch {
    // The server can't be reached at the moment; the next look may succeed.
  }
  setTimeout(look, PAUSE);
};

setTimeout(look, PAUSE);
