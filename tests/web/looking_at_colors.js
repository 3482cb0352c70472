// Run axe on the colors of a page. They are most of axe's work, and most text looks like text that has passed before,
// here or on another page. What axe finds depends on the style of the text and on the backgrounds below it, up to one
// that lets nothing through and reaches as far as the text. Where that can't be said of a text, axe always judges it.
async ([options, passed]) => {
  const known = new Set(passed), fresh = new Set();
  const above = (one) => one.assignedSlot ?? one.parentElement ?? one.getRootNode().host ?? null;
  const reaches = (outer, inner) => outer.left <= inner.left + 1 && outer.right >= inner.right - 1
    && outer.top <= inner.top + 1 && outer.bottom >= inner.bottom - 1;

  const isAmongText = (link) => {
    let block = above(link);
    while (block && getComputedStyle(block).display === "inline") block = above(block);
    return block && block.textContent.trim() !== link.textContent.trim() && getComputedStyle(block).color;
  };
  const describe = (one) => {
    const style = getComputedStyle(one), look = [
      style.color, style.webkitTextFillColor, style.fontSize, style.fontWeight, style.textShadow,
      style.textDecorationLine, one.matches("a") && isAmongText(one)];
    let ground = null;
    for (let each = one; each; each = above(each)) {
      const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode } = getComputedStyle(each);
      if (opacity !== "1" || filter !== "none" || mixBlendMode !== "normal") return null;
      if (ground) continue;
      if (backgroundImage !== "none") return null;
      look.push(backgroundColor);
      if (backgroundColor.startsWith("rgb(")) ground = each;
    }
    return ground && reaches(ground.getBoundingClientRect(), one.getBoundingClientRect()) ? look.join() : null;
  };

  const within = (root) => [...root.querySelectorAll("*")]
    .flatMap((one) => one.shadowRoot ? [one, ...within(one.shadowRoot)] : [one]);
  const isText = (one) => one.matches("input, select, textarea")
    || [...one.childNodes].some((each) => each.nodeType === Node.TEXT_NODE && each.data.trim());
  const texts = within(document.body)
    .filter((one) => !one.matches("option, optgroup, script, style") && isText(one) && one.checkVisibility())
    .map((one) => [one, describe(one)]).filter(([, look]) => !known.has(look));

  const run = async (include) => {
    if (!include.length) return [];
    const found = await axe.run({ include }, options);
    const contrast = found.passes.find((rule) => rule.id === "color-contrast");
    for (const { element } of contrast?.nodes ?? []) fresh.add(describe(element));
    return found.violations;
  };
  const tried = new Set();
  const first = texts.filter(([, look]) => look === null || (!tried.has(look) && tried.add(look)));
  const violations = await run(first.map(([one]) => one));
  // What axe could not decide about one text, it may decide about the next that looks the same.
  const others = texts.filter((one) => !first.includes(one) && !fresh.has(one[1]));
  violations.push(...await run(others.map(([one]) => one)));
  return [violations, [...fresh].filter((look) => look)];
}
