// The pad: strokes of a pointer on white paper, or a picture from outside. changed(when) gets the time of the event.

const padSide = 280, penWidth = 20;
const sentSide = 140;  // the digit becomes 20 pixels high: half of the paper is plenty, and found four times as fast

function makePad(canvas, changed) {
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const sent = new OffscreenCanvas(sentSide, sentSide).getContext("2d", { willReadFrequently: true });
  const pad = { strokes: [], picture: null };
  let current = null, pointer = null;  // the stroke that is being drawn, and by which pointer

  function clearPaper() {
    context.fillStyle = "#fff";
    context.fillRect(0, 0, padSide, padSide);
    context.lineCap = context.lineJoin = "round";
    context.lineWidth = penWidth;
    context.strokeStyle = "#000";
  }

  function drawStrokes() {
    clearPaper();
    for (const stroke of pad.strokes) drawStroke(context, stroke);
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    const on = (offset, size) => Math.round(Math.min(1, Math.max(0, offset / size)) * (padSide - 1));
    return [on(event.clientX - box.left, box.width), on(event.clientY - box.top, box.height)];
  }

  function leavePicture() {
    if (pad.picture === null) return;
    pad.picture = null;
    pad.strokes = [];
    drawStrokes();
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || current !== null) return;
    event.preventDefault();
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    leavePicture();
    pointer = event.pointerId;
    current = [place(event)];
    pad.strokes.push(current);
    drawStrokes();
    changed(event.timeStamp);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (current === null || event.pointerId !== pointer) return;
    const moves = event.getCoalescedEvents ? event.getCoalescedEvents() : [];
    for (const move of moves.length > 0 ? moves : [event]) {
      const to = place(move), from = current[current.length - 1];
      if (Math.hypot(to[0] - from[0], to[1] - from[1]) < 3) continue;
      current.push(to);
    }
    drawStrokes();  // whole strokes, so that a link, which has only their points, shows the same pixels
    changed(event.timeStamp);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
    canvas.addEventListener(end, (event) => { if (event.pointerId === pointer) current = null; });
  }

  pad.clear = () => pad.draw([]);
  pad.show = (strokes) => {
    current = null;
    pad.picture = null;
    pad.strokes = strokes.map((stroke) => stroke.map((point) => [...point]));
    drawStrokes();
  };
  pad.draw = (strokes) => {
    pad.show(strokes);
    changed(performance.now());
  };
  // A file's bytes go to the server as they are; the pad only shows them.
  pad.open = async (blob) => {
    const bytes = await blob.arrayBuffer();
    pad.picture = bytes;
    current = null;
    pad.strokes = [];
    clearPaper();
    changed(performance.now());
    const shown = await createImageBitmap(blob).catch(() => null);
    if (shown === null || pad.picture !== bytes) return;  // or drawn on meanwhile
    const scale = Math.min(padSide / shown.width, padSide / shown.height);
    const [width, height] = [shown.width * scale, shown.height * scale];
    context.drawImage(shown, (padSide - width) / 2, (padSide - height) / 2, width, height);
  };
  // The picture to read: the file, or the paper as PGM, which needs no compression.
  pad.bytes = () => {
    if (pad.picture !== null) return pad.picture;
    sent.drawImage(canvas, 0, 0, sentSide, sentSide);
    const pixels = sent.getImageData(0, 0, sentSide, sentSide).data;
    const head = new TextEncoder().encode(`P5 ${sentSide} ${sentSide} 255\n`);
    const bytes = new Uint8Array(head.length + sentSide * sentSide);
    bytes.set(head);
    for (let i = 0; i < sentSide * sentSide; ++i) bytes[head.length + i] = pixels[4 * i];
    return bytes.buffer;
  };
  clearPaper();
  return pad;
}

// A smooth line through the points' middles, as a hand draws it.
function drawStroke(context, points) {
  context.beginPath();
  context.moveTo(...points[0]);
  for (let i = 1; i + 1 < points.length; ++i) {
    const middle = [(points[i][0] + points[i + 1][0]) / 2, (points[i][1] + points[i + 1][1]) / 2];
    context.quadraticCurveTo(...points[i], ...middle);
  }
  context.lineTo(...points[points.length - 1]);
  context.stroke();
}

function fillSamples(box, pad) {
  sampleStrokes.forEach((strokes, digit) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-label", `Sample ${digit}`);
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 64;
    const context = canvas.getContext("2d");
    context.fillStyle = "#fff";
    context.fillRect(0, 0, 64, 64);
    context.scale(64 / padSide, 64 / padSide);
    context.lineCap = context.lineJoin = "round";
    context.lineWidth = penWidth;
    for (const stroke of strokes) drawStroke(context, stroke);
    button.append(canvas);
    button.addEventListener("click", () => pad.draw(strokes));
    box.append(button);
  });
}

// Two digits of base 36 a coordinate, a point between strokes.
function encodeStrokes(strokes) {
  const digits = (value) => value.toString(36).padStart(2, "0");
  return strokes.map((stroke) => stroke.map(([x, y]) => digits(x) + digits(y)).join("")).join(".");
}

function decodeStrokes(text) {
  return text.split(".").filter((stroke) => /^([0-9a-z]{4})+$/.test(stroke)).map((stroke) =>
    stroke.match(/.{4}/g).map((point) =>
      [point.slice(0, 2), point.slice(2)].map((value) => Math.min(padSide - 1, parseInt(value, 36)))));
}
