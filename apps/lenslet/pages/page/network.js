// The cards of the layers: name, backend, time, values.

// onPoint(index, at): a value was pointed at. onBackend(name), onCompare(name, button): only on a served page.
function makeCards(box, network, live, { onPoint, onBackend, onCompare }) {
  return network.nodes.map((node, index) => {
    const card = { node, index, at: null, layout: null };
    card.box = element("article", undefined, "layer");
    card.box.dataset.layer = node.name;
    const top = element("div", undefined, "top"), title = element("h3", node.name);
    top.append(title, element("span", summaryOf(node), "quiet"));
    if (live && (node.backends || []).filter((backend) => !backend.reason).length > 1)
      top.append(compareButton(node.name, onCompare));
    card.box.append(top);
    if (node.type !== "input") card.box.append(controlsOf(card, live, onBackend));
    if (!live) card.box.append(...refusalsOf(node));
    card.change = element("p", "", "change");
    card.change.setAttribute("aria-live", "polite");
    card.comparison = element("div", undefined, "comparison");
    card.comparison.hidden = true;
    card.comparison.setAttribute("aria-live", "polite");
    card.canvas = document.createElement("canvas");
    card.canvas.tabIndex = 0;
    card.canvas.setAttribute("role", "application");
    card.canvas.setAttribute("aria-label", `Values of ${node.name}, ${node.shape.join(" by ")}. Arrow keys move, ` +
                                           "Page Up and Page Down change the channel.");
    card.box.append(card.change, card.comparison, card.canvas);
    if (node.shape.length === 3 && node.shown_channels < node.shape[0])
      card.box.append(element("p", `The first ${node.shown_channels} of ${node.shape[0]} channels.`, "quiet"));
    listen(card, onPoint);
    box.append(card.box);
    return card;
  });
}

function summaryOf(node) {
  const shape = node.shape.join(" × "), text = (node.description || "").replace("->", "→");
  return text === "" ? shape : text.endsWith(`→ ${shape}`) ? text : `${text} → ${shape}`;
}

function compareButton(name, onCompare) {
  const button = element("button", "Compare");
  button.type = "button";
  button.setAttribute("aria-label", `Compare the backends of ${name}`);
  button.addEventListener("click", () => onCompare(name, button));
  return button;
}

function controlsOf(card, live, onBackend) {
  const node = card.node, line = element("div", undefined, "bottom");
  card.name = element("span", "", "name");
  card.name.hidden = live;
  card.select = document.createElement("select");
  card.select.setAttribute("aria-label", `Backend of ${node.name}`);
  card.automatic = element("option", "auto");
  card.automatic.value = "";
  card.select.append(card.automatic);
  for (const backend of node.backends || []) {
    const option = element("option", backend.reason ? `${backend.name}: ${backend.reason}` : backend.name);
    option.value = backend.name;
    option.disabled = backend.reason !== null;
    if (backend.reason) option.title = backend.reason;
    card.select.append(option);
  }
  card.select.hidden = !live;
  card.select.addEventListener("change", () => onBackend(node.name));
  card.time = element("span", "", "time");
  card.share = element("span", undefined, "share");
  line.append(card.select, card.name, card.time, card.share);
  return line;
}

// Where no menu shows them: the backends that refuse the layer, and why.
function refusalsOf(node) {
  const refused = (node.backends || []).filter((backend) => backend.reason);
  if (refused.length === 0) return [];
  const details = element("details", undefined, "quiet"), list = element("ul");
  const summary = refused.length === 1 ? "1 backend refuses it" : `${refused.length} backends refuse it`;
  details.append(element("summary", summary), list);
  for (const backend of refused) list.append(element("li", `${backend.name}: ${backend.reason}`));
  return [details];
}

function listen(card, onPoint) {
  const point = (at) => {
    if (at !== null && card.layout !== null) onPoint(card.index, at);
  };
  const under = (event) => {
    const box = card.canvas.getBoundingClientRect();
    return valueAt(card.node, card.layout, event.clientX - box.left, event.clientY - box.top);
  };
  card.canvas.addEventListener("pointermove", (event) => { if (event.pointerType !== "touch") point(under(event)); });
  card.canvas.addEventListener("pointerdown", (event) => point(under(event)));
  card.canvas.addEventListener("focus", () => {
    if (card.canvas.matches(":focus-visible")) point(card.at || { c: 0, y: 0, x: 0 });
  });
  card.canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [0, 0, -1], ArrowRight: [0, 0, 1], ArrowUp: [0, -1, 0], ArrowDown: [0, 1, 0],
                    PageUp: [-1, 0, 0], PageDown: [1, 0, 0] };
    if (!(event.key in steps)) return;
    event.preventDefault();
    point(moved(card, card.at || { c: 0, y: 0, x: 0 }, steps[event.key]));
  });
}

// The value a step further, not beyond the edge. In strips up and down move by a row of cells.
function moved(card, at, [c, y, x]) {
  const node = card.node, [, rows, columns] = planesOf(node);
  const within = (value, size) => Math.max(0, Math.min(size - 1, value));
  if (isPicture(node))
    return { c: within(at.c + c, node.shown_channels), y: within(at.y + y, rows), x: within(at.x + x, columns) };
  const step = x + (y + c) * card.layout.across;
  if (node.shape.length === 3) return { c: within(at.c + step, node.shown_channels), y: 0, x: 0 };
  return { c: 0, y: 0, x: within(at.x + step, columns) };
}

// Where the card is out of sight, it is drawn once it comes into sight.
function drawCard(card, values, marked) {
  card.drawn = card.width > 0 && card.seen;
  if (card.width === 0) return;
  card.layout = arrange(card.node, card.width);
  const height = `${card.layout.height}px`;
  if (card.canvas.style.height !== height) card.canvas.style.height = height;
  if (card.seen) drawValues(card.canvas, card.node, card.layout, card.width, values, marked);
}

// Keeps the width of each card's canvas, because reading it after a change costs a layout, and whether the card is in
// sight. Calls draw(card) if either changes.
function watchCards(cards, draw) {
  const cardOf = new Map(cards.map((card) => [card.canvas, card]));
  for (const card of cards) [card.width, card.seen] = [card.canvas.clientWidth, true];
  const sizes = new ResizeObserver((entries) => {
    for (const entry of entries) {
      const card = cardOf.get(entry.target), width = card.canvas.clientWidth;
      if (width === card.width) continue;
      card.width = width;
      draw(card);
    }
  });
  const sights = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const card = cardOf.get(entry.target);
      card.seen = entry.isIntersecting;
      if (card.seen && !card.drawn) draw(card);
    }
  }, { rootMargin: "300px" });
  for (const card of cards) {
    sizes.observe(card.canvas);
    sights.observe(card.canvas);
  }
}

// Names and times; `chosen` are the backends by layer that the profile was measured with. A layer that another one
// computes shows the name of that one.
function showTimes(cards, look, profile, chosen) {
  const rows = new Map((profile ? profile.layers : []).map((layer) => [layer.name, layer]));
  const inside = new Map();
  for (const layer of rows.values()) for (const name of layer.with) inside.set(name, layer.name);
  for (const card of cards) {
    if (!card.select) continue;
    const name = card.node.name, row = rows.get(name), choice = chosen.get(name) || "";
    const ran = row ? row.backend : (look && look.ran ? look.ran[name] : "");
    const automatic = ran && choice === "" ? `auto: ${ran}` : "auto";
    card.automatic.textContent = inside.has(name) ? `in ${inside.get(name)}` : automatic;
    card.name.textContent = inside.has(name) ? `computed in ${inside.get(name)}` : ran || "";
    card.box.dataset.backend = choice || ran || "";
    card.time.textContent = row ? timeText(row.median_ns) : inside.has(name) ? "" : profile ? "–" : "";
    card.box.dataset.ns = row ? row.median_ns : "";
    card.share.replaceChildren();
    if (row && row.with.length > 0) card.time.textContent += ` with ${row.with.join(", ")}`;
    if (!row || row.ceiling_fraction === null) continue;
    const bar = element("span", undefined, "bar"), fill = element("i");
    fill.style.width = `${Math.min(100, 100 * row.ceiling_fraction)}%`;
    bar.append(fill);
    card.share.append(bar, element("span", `${percentText(row.ceiling_fraction)} of ${row.bound_by}`));
  }
}

function showTotal(box, profile) {
  box.replaceChildren();
  if (!profile) return;
  const rate = Math.round((profile.batch / profile.total_ns) * 1e9).toLocaleString("en");
  const images = profile.batch === 1 ? "1 image" : `${profile.batch} images`;
  box.append(element("strong", `${timeText(profile.total_ns)} for ${images}`), `, ${rate} images/s. `);
  const residual = `${profile.residual_ns < 0 ? "\u2212" : "+"} ${timeText(Math.abs(profile.residual_ns))}`;
  const events = `events ${timeText(profile.events_ns)}`;
  box.append(element("span", `Layers ${timeText(profile.sum_ns)} \u2212 ${events} ${residual} residual.`, "quiet"));
}

function showComparison(card, comparison) {
  const times = comparison.rows.filter((row) => row.median_ns !== undefined);
  const slowest = Math.max(...times.map((row) => row.median_ns)), table = element("table");
  for (const row of comparison.rows) {
    const line = element("tr", undefined, row.median_ns === undefined ? "no" : "");
    line.append(element("td", row.backend));
    if (row.median_ns === undefined) {
      const reason = element("td", row.reason);
      reason.colSpan = 3;
      line.append(reason);
    } else {
      const track = element("td", undefined, "track"), bar = element("div"), fill = element("i");
      fill.style.width = `${(100 * row.median_ns) / slowest}%`;
      bar.append(fill);
      track.append(bar);
      const error = element("td", `error ${short(row.error)}`, "quiet");
      error.title = `bound ${short(row.bound)}`;
      line.append(track, element("td", timeText(row.median_ns)), error);
    }
    table.append(line);
  }
  const images = comparison.batch === 1 ? "1 image" : `${comparison.batch} images`;
  card.comparison.replaceChildren(element("p", `${times.length} backends by turns, ${images}, alone:`, "quiet"), table);
  card.comparison.hidden = false;
}
