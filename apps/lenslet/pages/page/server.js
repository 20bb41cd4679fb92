// The page's requests to `lenslet serve`. Every path is on the page's own origin.

async function ask(path, query, body) {
  const url = new URL(path, location.href);
  for (const [key, value] of Object.entries(query || {})) if (value !== "") url.searchParams.set(key, value);
  const response = await fetch(url, body === undefined ? {} : { method: "POST", body });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || `status ${response.status}`);
  return answer;
}

const server = {
  network: () => ask("/page/network"),
  look: (picture, backends, digit) => ask("/page/look", { backends, digit: String(digit) }, picture),
  profile: (backends, batch) => ask("/page/profile", { backends, batch: String(batch) }, ""),
  compare: (layer, batch) => ask("/page/compare", { layer, batch: String(batch) }, ""),
  tune: (batch) => ask("/page/tune", { batch: String(batch) }, ""),
};

// Runs one call at a time; of those that come meanwhile only the last.
function latestOnly(call) {
  let running = false, again = false;
  return async function run() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      do {
        again = false;
        await call();
      } while (again);
    } finally {
      running = false;
    }
  };
}

function download(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The page as it was served, with this data in it: the same file as `lenslet show` writes.
async function pageWith(data) {
  const source = await (await fetch(location.pathname)).text();
  const open = '<script type="application/json" id="data">', start = source.indexOf(open) + open.length;
  const own = new Set(["weightValues", "biasValues"]);  // of this page, made of the data
  const json = JSON.stringify(data, (key, value) => (own.has(key) ? undefined : value)).replaceAll("<", "\\u003c");
  return source.slice(0, start) + json + source.slice(source.indexOf("</", start));
}

// The state in the link: what is drawn, which of several digits, which backends, how many images, which value. Without
// strokes the page begins with a sample; with none ("s=") with empty paper.
function readLink() {
  const query = new URLSearchParams(location.hash.slice(1)), drawn = query.get("s");
  const strokes = drawn === null ? null : decodeStrokes(drawn);
  return { strokes: drawn && strokes.length === 0 ? null : strokes, digit: Number(query.get("d") || 0),
           backends: query.get("b") || "", batch: Number(query.get("n") || 1), value: query.get("v") || "" };
}

function writeLink(state) {
  const query = new URLSearchParams();
  if (state.strokes !== null) query.set("s", encodeStrokes(state.strokes));
  if (state.digit !== 0) query.set("d", String(state.digit));
  if (state.backends) query.set("b", state.backends);
  if (state.batch !== 1) query.set("n", String(state.batch));
  if (state.value) query.set("v", state.value);
  const text = query.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname);
}
