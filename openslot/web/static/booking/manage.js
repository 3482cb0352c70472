// The page of one booking: says what was just done, to the reader and to a page around it.

const booking = document.querySelector("[data-booking]");
const { done, start, end } = booking.dataset;
if (done) {
  const detail = { bookingId: booking.dataset.booking, startTime: start, endTime: end };
  document.dispatchEvent(new CustomEvent(`openslot:${done}`, { detail }));
  booking.querySelector("h1").focus();
  const query = new URLSearchParams(location.search);
  query.delete("done");
  history.replaceState(null, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
}
