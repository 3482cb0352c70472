// Shows new messages of a thread, and what becomes of those that were sent. Without this script, reload the page.

const EVERY = 5_000;
const AT_MOST = 60_000;
const list = document.querySelector("[data-updates]");
let wait = EVERY;
let timer;
let isAsking = false;

function show(page) {
  const told = page.querySelector("[data-updates]");
  const reply = document.querySelector("textarea");
  // Whether a reply can be written has changed; what is being written is kept.
  if (told.dataset.reply !== list.dataset.reply && !reply?.value) return location.reload();
  const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 120;
  let last = null;
  for (const message of told.children) {
    let known = document.getElementById(message.id);
    if (known?.innerHTML !== message.innerHTML) {
      const fresh = document.importNode(message, true);
      if (known) known.replaceWith(fresh);
      else if (last) last.after(fresh);
      else list.append(fresh);
      known = fresh;
    }
    last = known;
  }
  document.getElementById("message-count").replaceWith(document.importNode(page.getElementById("message-count"), true));
  if (isAtEnd) scrollTo({ top: document.documentElement.scrollHeight });
}

// Returns whether to ask again.
async function ask() {
  const headers = { "If-None-Match": `"${list.dataset.version}"` };
  const answer = await fetch(list.dataset.updates, { headers, redirect: "manual" });
  if (answer.status === 304) return true;
  // The thread was deleted, or the session has ended.
  if (answer.status === 404 || answer.type === "opaqueredirect") return false;
  if (!answer.ok) throw new Error(`${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  list.dataset.version = page.querySelector("[data-updates]").dataset.version;
  show(page);
  return true;
}

async function run() {
  clearTimeout(timer);
  if (document.hidden || isAsking) return;
  isAsking = true;
  try {
    if (!(await ask())) return;
    wait = EVERY;
  } catch {
    wait = Math.min(wait * 2, AT_MOST);
  } finally {
    isAsking = false;
  }
  timer = setTimeout(run, wait);
}

document.addEventListener("visibilitychange", run);
timer = setTimeout(run, EVERY);
