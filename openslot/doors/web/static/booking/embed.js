// Tells the page around a framed booking page what happens in it: ids and times only, and to one origin only.
const EVENTS = ["ready", "slotSelected", "booked", "requested", "rescheduled", "cancelled", "error"];
const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
const CODE = /^[a-z_]{1,50}$/;
const OPEN = "dialog[open], :popover-open, [role=combobox][aria-expanded=true]";

const around = new URLSearchParams(location.search).get("embed_origin");
if (window.parent !== window && isOrigin(around)) tell();

function tell() {
  const post = (type, detail) => window.parent.postMessage({ source: "openslot", type, ...detail }, around);
  let isReady = false;
  for (const type of EVENTS) {
    document.addEventListener(`openslot:${type}`, (event) => {
      isReady ||= type === "ready";
      post(type, idsAndTimes(event.detail));
    });
  }
  addEventListener("load", () => isReady || post("ready"));
  new ResizeObserver(() => post("height", { height: contentHeight() })).observe(document.documentElement);
  // Before the page's own handlers, which may close what is open: one press closes one thing.
  addEventListener("keydown", (event) => {
    if (/^Escape$/.test(event.key) && !event.isComposing && !document.querySelector(OPEN)) post("close");
  }, { capture: true });
}

function isOrigin(text) {
  try {
    const url = new URL(text);
    return /^https?:$/.test(url.protocol) && url.origin === text;
  } catch {
    return false;
  }
}

function idsAndTimes(detail) {
  const isSafe = ([name, value]) => ID.test(value) || TIME.test(value) || (name === "code" && CODE.test(value));
  return Object.fromEntries(Object.entries(detail ?? {}).filter(isSafe));
}

function contentHeight() {
  return Math.ceil(document.documentElement.getBoundingClientRect().height);
}
