// The code for other sites follows what is chosen: on a page of its own, and in a dialog on the page of its event type.

const read = async (address) => new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");

const follow = (look) => {
  look.querySelector("[data-embed-button]").hidden = true;
  const update = async () => {
    const shown = await read(`${look.action}?${new URLSearchParams(new FormData(look))}`);
    for (const code of document.querySelectorAll("pre[id^='code-']")) {
      code.textContent = shown.getElementById(code.id)?.textContent ?? code.textContent;
    }
    for (const link of document.querySelectorAll("[data-try]")) {
      link.href = shown.querySelector(`[data-try=${link.dataset.try}]`)?.getAttribute("href") ?? link.href;
    }
  };
  look.addEventListener("submit", (event) => {
    event.preventDefault();
    update();
  });
  look.addEventListener("change", update);
  look.elements.accent.addEventListener("input", () => { look.elements.own_color.checked = true; });
};

const fill = async (dialog, address) => {
  const page = await read(address);
  const style = document.importNode(page.querySelector("link[href*='event-type-embed']"));
  await new Promise((done, failed) => {
    style.addEventListener("load", done);
    style.addEventListener("error", failed);
    document.head.append(style);
  });
  const [, ...shown] = page.querySelector("[data-code]").children;
  dialog.append(...shown);
  for (const button of dialog.querySelectorAll("[data-copy]")) button.hidden = false;
  for (const look of dialog.querySelectorAll("[data-embed]")) follow(look);
};

export async function open(dialog, address) {
  if (dialog.childElementCount === 1) await fill(dialog, address);
  dialog.showModal();
}

for (const look of document.querySelectorAll("[data-embed]")) follow(look);
