// A new event type's link follows its name until someone types one.
const slug = document.querySelector("[data-slug]");
const name = document.getElementById("name");
const suggest = () => {
  const plain = name.value.normalize("NFKD").replace(/[^\x20-\x7e]/g, "").toLowerCase();
  slug.placeholder = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || slug.dataset.before;
};
slug.dataset.before = slug.placeholder;
name.addEventListener("input", suggest);
suggest();
