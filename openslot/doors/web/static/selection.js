// Selected bookings of a list: all of a page at once, how many there are, and what can be done with them as soon as there are some.

const form = document.querySelector("form.selectable");
const boxes = [...form.querySelectorAll("[name=id]")];
const all = form.querySelector("[data-all]");

function update() {
  const count = boxes.filter((box) => box.checked).length;
  all.checked = count === boxes.length;
  all.indeterminate = count > 0 && !all.checked;
  form.querySelector("[data-count]").textContent = count.toLocaleString(document.documentElement.lang);
  form.querySelector(".selection").hidden = count === 0;
}

form.classList.add("scripted");
all.parentElement.hidden = false;
all.addEventListener("change", () => boxes.forEach((box) => { box.checked = all.checked; }));
form.addEventListener("change", update);
// A browser that goes back may restore what was selected.
addEventListener("pageshow", update);
update();
