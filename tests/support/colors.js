// Run axe on the colors of a page. They are most of axe's work, and most text looks like text that has passed before,
// here or on another page. What axe finds depends on the style of the text and on the backgrounds below it, up to one
// that lets nothing through and reaches as far as the text. Where that can't be said of a text, axe always judges it.
// Where it can, the contrast follows from the colors: axe judges those alone that may have too little of it.
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
  const findSolidGround = (one) => {
    const ground = findGround(one);
    return ground?.solid && reaches(ground.solid.getBoundingClientRect(), one.getBoundingClientRect()) ? ground : null;
  };
  const describe = (one) => {
    const ground = findSolidGround(one);
    if (!ground) return null;
    const style = getComputedStyle(one);
    return [style.color, style.webkitTextFillColor, style.fontSize, style.fontWeight, style.textShadow,
      style.textDecorationLine, one.matches("a") && isAmongText(one), ...ground.colors].join();
  };
  // What WCAG calls contrast, and where a color is none that is understood here, not a number.
  const read = (color) => {
    const found = color.match(/^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/);
    return found ? [...found.slice(1, 4).map(Number), Number(found[4] ?? 1)] : [NaN, NaN, NaN, NaN];
  };
  const lay = ([...below], [...above]) => below.map((part, number) => above[3] * above[number] + (1 - above[3]) * part);
  const luminance = (color) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, number) => {
    const part = color[number] / 255;
    return sum + weight * (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  }, 0);
  const contrast = (colors) => {
    const ground = colors.slice(1).reverse().map(read).reduce((below, above) => lay(below.slice(0, 3), above));
    const [text, behind] = [lay(ground.slice(0, 3), read(colors[0])), ground].map(luminance);
    return (Math.max(text, behind) + 0.05) / (Math.min(text, behind) + 0.05);
  };
  const isClear = (one) => {
    const ground = findSolidGround(one);
    if (!ground) return false;
    const { color, fontSize, fontWeight, textDecorationLine, textShadow, webkitTextFillColor } = getComputedStyle(one);
    if (textShadow !== "none" || webkitTextFillColor !== color) return false;
    if (one.matches("a") && !textDecorationLine.includes("underline") && isAmongText(one)) return false;
    const size = parseFloat(fontSize), isLarge = size >= 24 || (size >= 18.67 && Number(fontWeight) >= 700);
    // A little more than axe asks for: it rounds.
    return contrast([color, ...ground.colors]) > (isLarge ? 3.1 : 4.6);
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
    .filter((one) => !isClear(one))
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
