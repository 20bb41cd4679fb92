// The values of a layer on a canvas: a tile for each channel, or strips of cells for values that are no picture.

const palette = { colours: [] };

// 511 colours from the lowest value over 0 to the highest, read from the style, so that they follow light and dark.
function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const rgb = (name) => {
    const text = style.getPropertyValue(name).trim();
    return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
  };
  const zero = rgb("--zero"), plus = rgb("--plus"), minus = rgb("--minus");
  palette.colours = Array.from({ length: 511 }, (_, i) => {
    const share = Math.abs(i - 255) / 255, end = i < 255 ? minus : plus;
    return zero.map((from, k) => Math.round(from + (end[k] - from) * share));
  });
  palette.mark = style.getPropertyValue("--ink").trim();
  palette.paper = style.getPropertyValue("--card").trim();
  palette.quiet = style.getPropertyValue("--quiet").trim();
}

function colourOf(value, limit) {
  const share = limit > 0 && Number.isFinite(value) ? Math.max(-1, Math.min(1, value / limit)) : 0;
  return palette.colours[255 + Math.round(255 * share)];
}

function limitOf(values) {
  let limit = 0;
  for (const value of values) if (Math.abs(value) > limit && Number.isFinite(value)) limit = Math.abs(value);
  return limit;
}

// The layout of the values for that width, in CSS pixels. A label above each value of a short strip.
function arrange(node, width) {
  const [, rows, columns] = planesOf(node), gap = 6;
  if (isPicture(node)) {
    const count = node.shown_channels;
    const best = Math.max(1, Math.min(Math.floor(72 / Math.max(rows, columns)) || 1, 16));
    const scale = count === 1 && columns * 5 <= width ? Math.max(best, Math.min(5, Math.floor(140 / rows) || 1)) : best;
    const cell = Math.min(scale, width / columns);
    const across = Math.max(1, Math.floor((width + gap) / (columns * cell + gap)));
    const high = Math.ceil(count / across);
    return { picture: true, rows, columns, cellWidth: cell, cellHeight: cell, gap, across, label: 0,
             height: high * (rows * cell + gap) - gap };
  }
  const count = node.shape.length === 3 ? node.shown_channels : columns;
  const label = count <= 12 ? 16 : 0;
  const cell = Math.min(44, Math.max(10, Math.floor(width / Math.min(count, 64))));
  const across = Math.max(1, Math.min(count, Math.floor(width / cell)));
  const cellHeight = label ? 28 : 16;
  return { picture: false, rows: 1, columns: count, cellWidth: cell, cellHeight, gap: 0, across, label,
           height: Math.ceil(count / across) * (cellHeight + 2) - 2 + label };
}

function placeOf(layout, at) {
  if (!layout.picture) {
    const i = layout.columns === 1 ? 0 : at.x + at.c;
    return [(i % layout.across) * layout.cellWidth,
            layout.label + Math.floor(i / layout.across) * (layout.cellHeight + 2)];
  }
  const tileWidth = layout.columns * layout.cellWidth + layout.gap;
  const tileHeight = layout.rows * layout.cellHeight + layout.gap;
  return [(at.c % layout.across) * tileWidth + at.x * layout.cellWidth,
          Math.floor(at.c / layout.across) * tileHeight + at.y * layout.cellHeight];
}

// The value under a point of the canvas; null between tiles.
function valueAt(node, layout, px, py) {
  if (!layout.picture) {
    const column = Math.floor(px / layout.cellWidth), row = Math.floor((py - layout.label) / (layout.cellHeight + 2));
    const i = Math.max(0, row) * layout.across + column;
    if (column >= layout.across || i < 0 || i >= layout.columns) return null;
    return node.shape.length === 3 ? { c: i, y: 0, x: 0 } : { c: 0, y: 0, x: i };
  }
  const tileWidth = layout.columns * layout.cellWidth + layout.gap;
  const tileHeight = layout.rows * layout.cellHeight + layout.gap;
  const across = Math.floor(px / tileWidth), c = Math.floor(py / tileHeight) * layout.across + across;
  const x = Math.floor((px - across * tileWidth) / layout.cellWidth);
  const y = Math.floor((py % tileHeight) / layout.cellHeight);
  if (across >= layout.across || c >= node.shown_channels || x >= layout.columns || y >= layout.rows || x < 0 || y < 0)
    return null;
  return { c, y, x };
}

// A canvas for one channel at a time, which is then drawn larger. Making a context costs more than drawing.
function tileContext(columns, rows) {
  if (!tileContext.pen)
    tileContext.pen = new OffscreenCanvas(columns, rows).getContext("2d", { willReadFrequently: true });
  const canvas = tileContext.pen.canvas;
  if (canvas.width < columns) canvas.width = columns;
  if (canvas.height < rows) canvas.height = rows;
  return tileContext.pen;
}

// Draws the values on a canvas of that width, and frames around those in `marked`.
function drawValues(canvas, node, layout, width, values, marked) {
  const scale = window.devicePixelRatio || 1;
  const [pixelWidth, pixelHeight] = [Math.round(width * scale), Math.round(layout.height * scale)];
  if (canvas.width !== pixelWidth || canvas.height !== pixelHeight)
    [canvas.width, canvas.height] = [pixelWidth, pixelHeight];
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, layout.height);
  const [, rows, columns] = planesOf(node);
  const limit = values ? limitOf(values) : 0;
  const fill = (x, y, w, h, value) => {
    const [r, g, b] = colourOf(value, limit);
    context.fillStyle = `rgb(${r} ${g} ${b})`;
    context.fillRect(x, y, w, h);
  };
  if (layout.picture) {
    const tile = new ImageData(columns, rows), pen = tileContext(columns, rows);
    context.imageSmoothingEnabled = false;
    for (let c = 0; c < node.shown_channels; ++c) {
      for (let i = 0; i < rows * columns; ++i) {
        tile.data.set(colourOf(values ? values[c * rows * columns + i] : 0, limit), 4 * i);
        tile.data[4 * i + 3] = 255;
      }
      pen.putImageData(tile, 0, 0);
      const [x, y] = placeOf(layout, { c, y: 0, x: 0 });
      context.drawImage(pen.canvas, 0, 0, columns, rows, x, y, columns * layout.cellWidth, rows * layout.cellHeight);
    }
  } else {
    for (let i = 0; i < layout.columns; ++i) {
      const [x, y] = placeOf(layout, { c: 0, y: 0, x: i });
      fill(x, y, layout.cellWidth - 1, layout.cellHeight, values ? values[i] : 0);
      if (!layout.label) continue;
      context.fillStyle = palette.quiet;
      context.font = "12px system-ui, sans-serif";
      context.textAlign = "center";
      context.fillText(String(i), x + layout.cellWidth / 2, 12);
    }
  }
  for (const [from, to] of boxesOf(marked)) {
    const [x, y] = placeOf(layout, from), [right, bottom] = placeOf(layout, to);
    for (const [colour, line] of [[palette.paper, 4], [palette.mark, 2]]) {
      context.strokeStyle = colour;
      context.lineWidth = line;
      context.strokeRect(x, y, right - x + layout.cellWidth, bottom - y + layout.cellHeight);
    }
  }
}

// One box around the values of each channel: [first, last].
function boxesOf(marked) {
  const boxes = new Map();
  for (const at of marked) {
    const box = boxes.get(at.c);
    if (!box) boxes.set(at.c, [{ ...at }, { ...at }]);
    else for (const k of ["y", "x"]) [box[0][k], box[1][k]] = [Math.min(box[0][k], at[k]), Math.max(box[1][k], at[k])];
  }
  return boxes.values();
}

// A small canvas of rows x columns cells, for a table.
function miniature(values, rows, columns, limit, maxWidth) {
  const cell = Math.max(2, Math.min(9, Math.floor(maxWidth / columns)));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns * cell, rows * cell];
  canvas.setAttribute("aria-hidden", "true");
  const context = canvas.getContext("2d");
  for (let i = 0; i < values.length; ++i) {
    const [r, g, b] = colourOf(values[i], limit);
    context.fillStyle = `rgb(${r} ${g} ${b})`;
    context.fillRect((i % columns) * cell, Math.floor(i / columns) * cell, cell, cell);
  }
  return canvas;
}
