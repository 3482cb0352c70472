// The page of one booking: says what was just done, to the reader and to a page around it, and leads to the checkout.

const booking = document.querySelector("[data-booking]");
const { done, start, end } = booking.dataset;
if ("waits" in booking.dataset) setTimeout(() => location.reload(), 10_000);
const checkout = booking.querySelector("[data-opens]");
// A payment page can't be framed: it replaces the page around, or its link does if the browser does not allow that.
if (checkout) {
  forgetStep();
  open(checkout.href, "_top");
}
if (done) {
  const detail = { bookingId: booking.dataset.booking, startTime: start, endTime: end };
  document.dispatchEvent(new CustomEvent(`openslot:${done}`, { detail }));
  booking.querySelector("h1").focus();
  forgetStep();
}

function forgetStep() {
  const query = new URLSearchParams(location.search);
  query.delete("done");
  query.delete("payment");
  history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
}
