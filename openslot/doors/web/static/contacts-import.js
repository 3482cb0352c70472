// The progress of an import: asks for the page again until the import has finished. Without this script the page reloads.

const PAUSE = 1000;

const look = async () => {
  const shown = document.querySelector("[data-progress]");
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("[data-progress]");
    if (!fresh && answer.status < 500) {
      location.reload();
      return;
    }
    if (fresh) {
      shown.querySelector("progress").value = fresh.querySelector("progress").value;
      for (const name of ["[role=status]", ".counts"]) {
        // A part that has not changed stays, so that it is not read aloud again.
        const [part, next] = [shown, fresh].map((each) => each.querySelector(name));
        if (part.innerHTML !== next.innerHTML) part.replaceChildren(...next.childNodes);
      }
    }
  } catch {
    // The server can't be reached at the moment; the next look may succeed.
  }
  setTimeout(look, PAUSE);
};

setTimeout(look, PAUSE);
