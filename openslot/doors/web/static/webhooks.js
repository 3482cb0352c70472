// While a test is on its way, its result is asked for every second, and shown with the endpoint's state and log; without this script the page reloads itself.

const TRIES = 30;

const ask = async () => {
  const answer = await fetch(location.pathname + location.search, { headers: { accept: "text/html" } });
  if (!answer.ok) return null;
  return new DOMParser().parseFromString(await answer.text(), "text/html");
};

const wait = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

const show = (fresh) => {
  for (const id of ["test-result", "standing", "deliveries"]) {
    document.getElementById(id).replaceWith(fresh.getElementById(id));
  }
};

for (let count = 0; count < TRIES; count += 1) {
  await wait(1000);
  const fresh = await ask().catch(() => null);
  const result = fresh?.getElementById("test-result");
  if (result && !("underWay" in result.dataset)) {
    show(fresh);
    break;
  }
}
