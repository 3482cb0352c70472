// What can't be read on an open page: words broken by a narrow column, words without a gap, cards and cells that touch.
() => {
  const faults = [], told = (one) => one.outerHTML.slice(0, 160);
  const isClipped = (one) => getComputedStyle(one).clipPath !== "none" || (one.parentElement && getComputedStyle(one.parentElement).clipPath !== "none");
  const isSeen = (one) => one.checkVisibility({ visibilityProperty: true }) && !isClipped(one) && !one.closest(".unseen, .skip, iframe, svg, select, [inert]");
  const boxOf = (one) => {
    if (one.nodeType === 1) return one.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(one);
    return range.getBoundingClientRect();
  };
  const wordsOf = (one) => {
    if (one.nodeType !== 1) return boxOf(one);
    const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), boxes = [];
    while (texts.nextNode()) if (texts.currentNode.data.trim() && isSeen(texts.currentNode.parentElement)) boxes.push(boxOf(texts.currentNode));
    const side = (name, most) => Math[most](...boxes.map((box) => box[name]));
    return { left: side("left", "min"), right: side("right", "max"), top: side("top", "min"), bottom: side("bottom", "max") };
  };
  const isApart = (one, other, gap) => one.right + gap <= other.left || other.right + gap <= one.left
    || one.bottom + gap <= other.top || other.bottom + gap <= one.top;

  // Words of people, not addresses, that stand on more than one line
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const parent = text.parentElement;
    if (!text.data.trim() || !isSeen(parent) || parent.closest("code, pre, :not(html)[dir=ltr], script, style, textarea")) continue;
    if (boxOf(text).width > 176) continue;
    for (const word of text.data.matchAll(/(?<![^\s(“])\p{L}{2,14}(?![^\s,.:;)”])/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].filter((box) => box.width > 0).map((box) => Math.round(box.top)));
      if (lines.size > 1) faults.push(`“${word[0]}” is broken: ${told(parent)}`);
    }
  }

  for (const one of document.body.querySelectorAll("*")) {
    const { display } = getComputedStyle(one);
    // Labels of a chart stand below more than their own column.
    if (!/flex|grid/.test(display) || !isSeen(one) || one.matches("[data-columns]")) continue;
    const parts = [...one.childNodes].filter((each) => each.nodeType === 1
      ? isSeen(each) && !["absolute", "fixed", "sticky"].includes(getComputedStyle(each).position) && !/inline-(start|end)/.test(each.className)
      : each.nodeType === 3 && each.data.trim());
    const boxes = parts.map(boxOf);
    for (let number = 1; number < parts.length; number += 1) {
      const [before, after] = [parts[number - 1], parts[number]], [first, second] = [boxes[number - 1], boxes[number]];
      const isCards = [before, after].every((each) => each.matches?.(".card"));
      if (isCards && !isApart(first, second, 8)) faults.push(`cards touch: ${told(before)} and ${told(after)}`);
      if (before.textContent.trim() === "" || after.textContent.trim() === "" || !first.width || !second.width) continue;
      if (!isApart(first, second, -1)) faults.push(`parts overlap: ${told(one)}`);
      const [left, right] = [before, after].map(wordsOf).toSorted((each, other) => each.left - other.left);
      const isBeside = left.top < right.bottom && right.top < left.bottom;
      if (isBeside && right.left - left.right < 2 && left.right - right.left < 8) faults.push(`words without a gap: ${told(one)}`);
    }
  }
  return [...new Set(faults)];
}
