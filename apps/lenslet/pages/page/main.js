// The page: its state, and what happens when something changes.

const get = (id) => document.getElementById(id);
const page = JSON.parse(get("data").textContent);
const state = { values: [], chosen: null, digit: 0, backends: new Map(), measured: new Map(), batch: 1, leaves: false };
let cards = [], pad = null;

// Stays until what failed succeeds.
function complain(error, source) {
  const problem = get("problem");
  problem.textContent = error.message;
  problem.dataset.source = source;
  problem.hidden = false;
}

function succeeded(source) {
  if (get("problem").dataset.source === source) get("problem").hidden = true;
}

const isBusy = (button) => button.getAttribute("aria-disabled") === "true";

// Awaits what a click starts, and returns whether it succeeded; clicks meanwhile do nothing. Disabling the button would
// take the keyboard's focus from it.
async function busy(button, call) {
  if (isBusy(button)) return false;
  button.setAttribute("aria-disabled", "true");
  const source = button.id || button.getAttribute("aria-label");
  try {
    await call();
    succeeded(source);
    return true;
  } catch (error) {
    complain(error, source);
    return false;
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

const backendsText = () => [...state.backends].map(([layer, backend]) => `${layer}=${backend}`).join(",");

function showAnswer(look) {
  const answer = look.answer, top = answer.top || [];
  const name = answer.number || (!answer.reason && top.length > 0 ? top[0].label || String(top[0].digit) : "");
  get("number").textContent = name || "–";
  get("sure").textContent = name && answer.probability !== null ? percentText(answer.probability) : "";
  get("reason").textContent = [...new Set([answer.reason, ...(answer.warnings || [])])].filter(Boolean).join("; ");
  showMarks(answer.digits || []);
  showClasses(look);
}

// The buttons stay the same ones, so that the pressed one keeps the focus.
function showMarks(digits) {
  const marks = get("marks");
  if (digits.length > 0) state.digit = Math.min(state.digit, digits.length - 1);
  marks.hidden = digits.length < 2;
  if (marks.hidden) return;
  while (marks.children.length > digits.length) marks.lastChild.remove();
  digits.forEach((digit, i) => {
    if (!marks.children[i]) {
      const button = element("button");
      button.type = "button";
      button.disabled = !page.live;
      button.addEventListener("click", () => { state.digit = i; refresh(); });
      marks.append(button);
    }
    marks.children[i].textContent = digit.digit === null ? "?" : String(digit.digit);
    marks.children[i].setAttribute("aria-pressed", String(i === state.digit));
  });
}

function showClasses(look) {
  const labels = page.network.labels, probabilities = look.probabilities || [];
  let order = probabilities.map((_, i) => i);
  if (order.length > 10) order = order.sort((a, b) => probabilities[b] - probabilities[a]).slice(0, 10);
  if (order.length === 0) order = page.network.digits ? Array.from({ length: 10 }, (_, i) => i) : [];
  const list = get("classes");
  while (list.children.length > order.length) list.lastChild.remove();
  while (list.children.length < order.length) {
    const row = element("li"), bar = element("span", undefined, "bar");
    bar.append(element("i"));
    row.append(element("span"), bar, element("b"));
    list.append(row);
  }
  order.forEach((c, i) => {
    const [name, bar, share] = list.children[i].children, probability = probabilities[c] || 0;
    name.textContent = labels.length > 0 ? labels[c] : String(c);
    bar.firstChild.style.width = `${100 * probability}%`;
    share.textContent = probabilities.length > 0 ? `${(100 * probability).toFixed(1)} %` : "";
  });
}

function showStages(look) {
  const list = get("stages");
  while (list.children.length > look.stages.length) list.lastChild.remove();
  look.stages.forEach((stage, i) => {
    if (!list.children[i]) {
      const item = element("li"), frame = element("div", undefined, "frame");
      frame.append(document.createElement("img"));
      item.append(frame, element("strong"), element("span"));
      list.append(item);
    }
    const [frame, name, text] = list.children[i].children, image = frame.firstChild;
    if (image.src !== stage.png) image.src = stage.png;
    image.alt = `${stage.name}: ${stage.text}`;
    name.textContent = stage.name;
    text.textContent = stage.text;
  });
  get("steps").replaceChildren(...look.steps.map((step) => element("li", step)));
}

// The values that the chosen one reads, by layer.
function marksOf(index) {
  if (state.chosen === null || state.values.length === 0) return [];
  if (state.chosen.index === index) return [state.chosen.at];
  if (!state.chosen.reads || page.network.nodes[state.chosen.index].inputs[0] !== index) return [];
  return state.chosen.reads;
}

function draw(card) {
  drawCard(card, state.values[card.index] || null, marksOf(card.index));
}

function drawAll() {
  cards.forEach(draw);
}

function point(index, at) {
  if (state.values.length === 0) return;
  const inspector = get("inspector"), opened = inspector.querySelector("details[open]") !== null;
  const found = showValue(inspector, get("what"), page.network, state.values, index, at);
  if (opened) for (const details of inspector.querySelectorAll("details")) details.open = true;
  const before = state.chosen;
  const reads = found.groups.flatMap((group) => group.where.filter((_, i) => !Number.isNaN(group.x[i])));
  state.chosen = { index, at, reads: reads.length <= 512 && page.network.nodes[index].type !== "linear" ? reads : [] };
  cards[index].at = at;
  get("right").classList.add("chosen");
  get("status").textContent = `${get("what").textContent}: ${exact(found.value)}`;
  const touched = new Set([index, page.network.nodes[index].inputs[0]]);
  if (before) touched.add(before.index).add(page.network.nodes[before.index].inputs[0]);
  for (const i of touched) if (cards[i]) draw(cards[i]);
  keepLink();
}

function showLook(look) {
  page.look = look;
  state.values = look.values ? look.values.map(floatsOf) : [];
  showAnswer(look);
  showStages(look);
  drawAll();
  showChosen();
}

// The chosen value again, or that there is none.
function showChosen() {
  if (state.values.length > 0 && state.chosen) return point(state.chosen.index, state.chosen.at);
  get("what").textContent = "One value";
  get("inspector").replaceChildren(element("p", "Point at a value of a layer.", "quiet"));
  return undefined;
}

const nothing = { answer: {}, stages: [], steps: [], values: null, probabilities: null };

function keepLink() {
  if (!page.live || !pad) return;
  clearTimeout(keepLink.timer);
  keepLink.timer = setTimeout(keepLinkNow, 300);
}

function keepLinkNow() {
  clearTimeout(keepLink.timer);
  if (!state.leaves) {
    const chosen = state.chosen;
    const { c, y, x } = chosen ? chosen.at : {};
    const value = chosen ? [page.network.nodes[chosen.index].name, c, y, x].join(".") : "";
    writeLink({ strokes: pad.picture === null ? pad.strokes : null, digit: state.digit, backends: backendsText(),
                batch: state.batch, value });
  }
}

// Changes of the pad so far.
const strokesSoFar = () => document.body.dataset.strokes || "0";

// How long the last changes took from their event until the layers were drawn.
const follow = { since: null, times: [] };

const refresh = latestOnly(async () => {
  const since = follow.since, strokes = strokesSoFar();
  follow.since = null;
  try {
    showLook(await server.look(pad.bytes(), backendsText(), state.digit));
    if (since !== null) follow.times = [...follow.times.slice(-199), (performance.now() - since).toFixed(1)];
    document.body.dataset.followMs = follow.times.join(" ");
    document.body.dataset.shownStrokes = strokes;
    succeeded("look");
  } catch (error) {
    showLook(nothing);  // not the answer to what was there before
    page.look = null;
    complain(error, "look");
  }
  keepLink();
});

async function measure() {
  const measured = new Map(state.backends);
  page.profile = await server.profile(backendsText(), state.batch);
  state.measured = measured;
  showTimes(cards, page.look, page.profile, measured);
  showTotal(get("total"), page.profile);
}

// Changes that come while it measures: only the last of them counts.
const measureLast = latestOnly(() => busy(get("measure"), measure));

function largestDifference(a, b) {
  return a && b && a.length === b.length ? a.reduce((largest, x, i) => Math.max(largest, Math.abs(x - b[i])), 0) : NaN;
}

function sameBits(a, b) {
  const [one, other] = [a, b].map((values) => new Uint32Array(values.buffer, values.byteOffset, values.length));
  return one.length === other.length && one.every((bits, i) => bits === other[i]);
}

function movedText(name, before, after) {
  if (sameBits(before, after)) return `${name} has the same bits`;
  return `${name} differs by ${short(largestDifference(before, after))}`;
}

function choose(name, backend) {
  if (backend) state.backends.set(name, backend);
  else state.backends.delete(name);
}

// Another backend for one layer: its name, its time, and, of the same picture, how far its values and the answer moved.
// A choice made meanwhile follows.
async function changeBackend(name) {
  const card = cards.find((one) => one.node.name === name), backend = card.select.value;
  if (isBusy(card.select)) return;
  const before = state.values, strokes = document.body.dataset.shownStrokes, ns = Number(card.box.dataset.ns);
  const old = card.box.dataset.backend, kept = state.backends.get(name) || "";
  choose(name, backend);
  const done = await busy(card.select, async () => {
    const unchanged = strokes === strokesSoFar();
    showLook(await server.look(pad.bytes(), backendsText(), state.digit));
    const after = state.values;
    await measure();
    if (!unchanged || before.length === 0 || after.length === 0) {
      card.change.textContent = "";
      return;
    }
    const last = cards.length - 1, moved = (name, i) => movedText(name, before[i], after[i]);
    const now = Number(card.box.dataset.ns), faster = ns && now ? `, ${timeText(ns)} → ${timeText(now)}` : "";
    card.change.textContent = `${old} → ${card.box.dataset.backend}${faster}. ` +
      `${moved(name, card.index)}, ${moved("the answer", last)}.`;
    card.change.dataset.moved = String(largestDifference(before[card.index], after[card.index]));
    card.change.dataset.difference = String(largestDifference(before[last], after[last]));
  });
  if (!done) {
    choose(name, kept);
    if (card.select.value === backend) card.select.value = kept;
    refresh();
  }
  keepLink();
  if (card.select.value !== (state.backends.get(name) || "")) await changeBackend(name);
}

async function tune() {
  const found = await server.tune(state.batch), box = get("tuned");
  const fastest = found[found.fastest], other = found[found.fastest === "own" ? "layered" : "own"];
  const button = element("button", "Download plan.json");
  button.type = "button";
  button.addEventListener("click", () => download("plan.json", found.plan, "application/json"));
  box.replaceChildren(`Fastest: ${fastest.name}, ${timeText(fastest.median_ns)}; the other plan, ${other.name}, `,
                      other.median_ns === undefined ? `has no time: ${other.reason}. `
                        : `takes ${timeText(other.median_ns)}` +
                          `${other.median_ns < fastest.median_ns ? ", within the spread" : ""}. `,
                      button,
                      " lenslet classify --plan plan.json replays it.");
  box.hidden = false;
}

function showBatch() {
  get("batch").value = String(Math.log2(state.batch));
  get("batchtext").textContent = String(state.batch);
}

function takePictures() {
  const open = (files) => {
    const file = [...files].find((one) => one.type.startsWith("image/") || /\.p[bgpn]m$/i.test(one.name));
    if (file) pad.open(file);
  };
  get("choose").addEventListener("click", () => get("file").click());
  get("file").addEventListener("change", () => {
    open(get("file").files);
    get("file").value = "";  // so that the same file can be opened again
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => { event.preventDefault(); open(event.dataTransfer.files); });
  document.addEventListener("paste", (event) => open(event.clipboardData.files));
}

// The backends of a link that are here; the others are named.
function takeBackends(link) {
  const unknown = [];
  for (const part of link.backends.split(",").filter(Boolean)) {
    const equals = part.lastIndexOf("="), [layer, backend] = [part.slice(0, equals), part.slice(equals + 1)];
    const node = page.network.nodes.find((one) => one.name === layer);
    const here = node && (node.backends || []).some((one) => one.name === backend && one.reason === null);
    if (here) state.backends.set(layer, backend);
    else unknown.push(part);
  }
  if (unknown.length > 0)
    link.fault = new Error(`Unavailable backends in the link: ${unknown.join(", ")}. These layers use auto.`);
}

async function startLive() {
  page.network = await server.network();
  const link = readLink();
  takeBackends(link);
  if (Number.isInteger(link.digit) && link.digit > 0) state.digit = link.digit;
  if (Number.isInteger(Math.log2(link.batch)) && link.batch <= 1024) state.batch = link.batch;
  for (const id of ["padbox", "tools", "link", "save"]) get(id).hidden = false;
  get("padtitle").textContent = page.network.digits ? "Draw a digit" : "Open a picture, or draw";
  pad = makePad(get("pad"), (when) => {
    state.digit = 0;
    get("link").disabled = pad.picture !== null;
    get("link").title = pad.picture === null ? "" : "A link holds strokes; Save page keeps a picture";
    if (follow.since === null) follow.since = when;
    document.body.dataset.strokes = String(Number(document.body.dataset.strokes || 0) + 1);  // changes so far
    refresh();
  });
  fillSamples(get("samples"), pad);
  get("clear").addEventListener("click", () => pad.clear());
  takePictures();
  get("batch").addEventListener("input", () => {
    state.batch = 2 ** Number(get("batch").value);
    showBatch();
    keepLink();
  });
  get("batch").addEventListener("change", measureLast);
  get("measure").addEventListener("click", () => { if (!isBusy(get("measure"))) measureLast(); });
  get("tune").addEventListener("click", () => busy(get("tune"), tune));
  get("link").addEventListener("click", () => busy(get("link"), async () => {
    keepLinkNow();
    await navigator.clipboard.writeText(location.href);
    get("link").textContent = "Copied";
    setTimeout(() => { get("link").textContent = "Copy link"; }, 1500);
  }));
  get("save").addEventListener("click", () => busy(get("save"), async () => {
    if (!page.look) throw new Error("Nothing was read: draw or open a picture before saving the page.");
    const digit = state.digit > 0 ? { digit: state.digit } : {};
    download("lenslet.html", await pageWith({ ...page, ...digit, live: false }), "text/html");
  }));
  // Another link in the address of this page.
  addEventListener("hashchange", () => {
    if (document.getElementById(location.hash.slice(1))) return keepLink();  // the link to the layers
    state.leaves = true;
    location.reload();
    return undefined;
  });
  showBatch();
  return link;
}

async function start() {
  readPalette();
  const link = page.live ? await startLive() : null;
  const network = page.network;
  document.title = `${network.title} – Lenslet`;
  get("subtitle").textContent = `${network.title}, ${network.weights}, on ${network.device}`;
  for (const node of network.nodes) {
    node.weightValues = node.weights ? floatsOf(node.weights) : null;
    node.biasValues = node.bias ? floatsOf(node.bias) : null;
  }
  cards = makeCards(get("layers"), network, page.live, {
    onPoint: point,
    onBackend: changeBackend,
    onCompare: (name, button) => busy(button, async () =>
      showComparison(cards.find((card) => card.node.name === name), await server.compare(name, state.batch))),
  });
  for (const card of cards) if (card.select) card.select.value = state.backends.get(card.node.name) || "";
  get("close").addEventListener("click", () => get("right").classList.remove("chosen"));
  watchCards(cards, draw);
  addEventListener("beforeprint", () => {
    for (const card of cards) card.seen = true;
    drawAll();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readPalette();
    drawAll();
    showChosen();
  });
  if (!page.live) {
    state.digit = page.digit || 0;
    showLook(page.look);
    get("tools").remove();
  } else {
    pad.show(link.strokes || sampleStrokes[3]);
    await refresh();
    if (!page.look) return;
    if (link.fault) complain(link.fault, "look");
    await measureLast();
  }
  showTimes(cards, page.look, page.profile, state.measured);
  showTotal(get("total"), page.profile);
  chooseFirst(link);
  document.body.dataset.ready = "yes";
}

// The value of the link; else, where there is room for it, one of the first convolution.
function chooseFirst(link) {
  if (state.values.length === 0) return;
  const parts = link && link.value ? link.value.split(/\.(?=\d+(?:\.\d+)*$)/) : [];
  const [name, ...at] = parts.flatMap((part, i) => i ? part.split(".") : [part]);
  const index = page.network.nodes.findIndex((node) => node.name === name);
  const [c, y, x] = at.map(Number);
  if (index >= 0 && at.length === 3) {
    const [, rows, columns] = planesOf(page.network.nodes[index]);
    if (c < page.network.nodes[index].shown_channels && y < rows && x < columns) return point(index, { c, y, x });
  }
  const first = page.network.nodes.findIndex((node) => node.type === "conv2d");
  if (first < 0 || !matchMedia("(min-width: 860px)").matches) return undefined;
  const [, rows, columns] = planesOf(page.network.nodes[first]);
  return point(first, { c: 0, y: rows >> 1, x: columns >> 1 });
}

start().catch((error) => complain(error, "start"));
