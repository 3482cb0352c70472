// Run axe on the colors of a page. They are most of axe's work, and most text looks like text that has passed before,
// here or on another page. What axe finds depends on the style of the text and on the backgrounds below it, up to one
// that lets nothing through and reaches as far as the text. Where that can't be said of a text, axe always judges it.
async ([options, passed]) => {
  const known = new Set(passed), fresh = new Set(), undecided = new Set();
  const above = (one) => one.assignedSlot ?? one.parentElement ?? one.getRootNode().host ?? null;
  const reaches = (outer, inner) => outer.left <= inner.left + 1 && outer.right >= inner.right - 1
    && outer.top <= inner.top + 1 && outer.bottom >= inner.bottom - 1;

  const isAmongText = (link) => {
    let block = above(link);
    while (block && getComputedStyle(block).display === "inline") block = above(block);
    return block && block.textContent.trim() !== link.textContent.trim() && getComputedStyle(block).color;
  };
  // What lies below an element: the background colors up to the one that lets nothing through, and who has that one.
  const seen = new Map();
  const findGround = (one) => {
    if (!one) return { colors: [], solid: null };
    if (!seen.has(one)) seen.set(one, lookBelow(one));
    return seen.get(one);
  };
  const lookBelow = (one) => {
    const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode } = getComputedStyle(one);
    const below = findGround(above(one));
    if (!below || opacity !== "1" || filter !== "none" || mixBlendMode !== "normal") return null;
    if (backgroundImage !== "none") return { colors: [], solid: null };
    if (backgroundColor.startsWith("rgb(")) return { colors: [backgroundColor], solid: one };
    return { colors: [backgroundColor, ...below.colors], solid: below.solid };
  };
  const describe = (one) => {
    const ground = findGround(one);
    if (!ground?.solid || !reaches(ground.solid.getBoundingClientRect(), one.getBoundingClientRect())) return null;
    const style = getComputedStyle(one);
    return [style.color, style.webkitTextFillColor, style.fontSize, style.fontWeight, style.textShadow,
      style.textDecorationLine, one.matches("a") && isAmongText(one), ...ground.colors].join();
  };
  // axe can't judge a single letter or what is off the screen: it need not try the same text in the same place again.
  const describePlace = (one, look) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    return [look, x, y, width, height, one.outerHTML].join();
  };

  const within = (root) => [...root.querySelectorAll("*")]
    .flatMap((one) => one.shadowRoot ? [one, ...within(one.shadowRoot)] : [one]);
  const isText = (one) => one.matches("input, select, textarea")
    || [...one.childNodes].some((each) => each.nodeType === Node.TEXT_NODE && each.data.trim());
  const texts = within(document.body)
    .filter((one) => !one.matches("option, optgroup, script, style") && isText(one) && one.checkVisibility())
    .map((one) => [one, describe(one)])
    .filter(([one, look]) => look === null || !(known.has(look) || known.has(describePlace(one, look))));

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
  fresh.delete(null);
  for (const [one, look] of texts) if (look !== null && !fresh.has(look)) undecided.add(describePlace(one, look));
  return [violations, [...fresh, ...undecided]];
}
