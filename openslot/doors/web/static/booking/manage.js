// The page of one booking: says what was just done, to the reader and to a page around it, and leads on.

const booking = document.querySelector("[data-booking]");
const { done, start, end } = booking.dataset;
if ("waits" in booking.dataset) setTimeout(() => location.reload(), 10_000);
if (done) {
  const detail = { bookingId: booking.dataset.booking, startTime: start, endTime: end };
  document.dispatchEvent(new CustomEvent(`openslot:${done}`, { detail }));
  booking.querySelector("h1").focus();
  forgetStep();
}

// A payment page or another site can't be framed: it replaces the page around, or its link does if the browser does
// not allow that.
const next = booking.querySelector("[data-opens]");
if (next) {
  forgetStep();
  open(next.href, "_top");
}

function forgetStep() {
  const query = new URLSearchParams(location.search);
  query.delete("done");
  query.delete("payment");
  history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
}
