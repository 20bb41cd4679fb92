// Numbers: from base64 to arrays, from arrays to text, and the sum behind one value.

function floatsOf(text) {
  const plain = atob(text), bytes = new Uint8Array(plain.length);
  for (let i = 0; i < plain.length; ++i) bytes[i] = plain.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

// The shortest decimal that is this fp32 value.
function exact(value) {
  if (!Number.isFinite(value)) return String(value);
  for (let digits = 1; digits < 9; ++digits) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return plain(Number(text));
  }
  return plain(Number(value.toPrecision(9)));
}

function plain(value) {
  return String(value).replace("-", "\u2212");
}

function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e5) return plain(Number(value.toPrecision(4)));
  return plain(value.toExponential(2));
}

function timeText(ns) {
  const [unit, scale] = ns < 1e3 ? ["ns", 1] : ns < 1e6 ? ["µs", 1e3] : ns < 1e9 ? ["ms", 1e6] : ["s", 1e9];
  return `${Number((ns / scale).toPrecision(3))} ${unit}`;
}

function percentText(share) {
  const percent = 100 * share;
  return `${percent.toFixed(percent < 10 || percent > 99 ? 2 : 1)} %`;
}

// [channels, rows, columns] of a node's output; one channel of one row if it is no picture.
function planesOf(node) {
  const shape = node.shape;
  if (shape.length === 3) return shape;
  return [1, 1, shape.reduce((product, size) => product * size, 1)];
}

function isPicture(node) {
  return node.shape.length === 3 && node.shape[1] * node.shape[2] > 1;
}

// How a value is computed. kind: "input", "sum", "max", "mean", "same", or "unknown" with a reason. groups: for each
// channel that it reads, the values of its window with their weights; NaN is padding.
function explain(network, values, index, at) {
  const node = network.nodes[index];
  const [, rows, columns] = planesOf(node);
  const value = values[index][(at.c * rows + at.y) * columns + at.x];
  const known = { value, groups: [], bias: 0 };
  if (node.type === "input") return { ...known, kind: "input" };
  const from = node.inputs[0], source = network.nodes[from];
  const complete = values[from] && source.shown_channels === (source.shape.length === 3 ? source.shape[0] : 1);
  if (node.type === "relu" || node.type === "flatten" || node.type === "reshape" || node.type === "activation") {
    if (values[from].length !== values[index].length) return { ...known, kind: "unknown", reason: "" };
    const x = values[from][(at.c * rows + at.y) * columns + at.x];
    return { ...known, kind: "same", groups: [{ name: source.name, rows: 1, columns: 1, x: [x], where: [at] }] };
  }
  if (node.type === "conv2d" || node.type === "linear") {
    if (!complete) return { ...known, kind: "unknown", reason: `this page has only some channels of ${source.name}` };
    if (!node.weightValues)
      return { ...known, kind: "unknown",
               reason: `its ${node.weight_count.toLocaleString()} weights are not in this page` };
    const outputs = node.shape[node.shape.length - 1], flat = (at.c * rows + at.y) * columns + at.x;
    const bias = node.biasValues ? node.biasValues[node.type === "conv2d" ? at.c : flat % outputs] : 0;
    const groups = node.type === "conv2d" ? windowsOf(network, values, index, at)
      : [vectorOf(source, values[from], node, Math.floor(flat / outputs), flat % outputs)];
    for (const group of groups)
      group.sum = group.x.reduce((sum, x, i) => sum + (Number.isNaN(x) ? 0 : x * group.w[i]), 0);
    const total = groups.reduce((sum, group) => sum + group.sum, bias);
    return { ...known, kind: "sum", groups, bias, total };
  }
  if ((node.type === "max_pool2d" || node.type === "avg_pool2d") && at.c < source.shown_channels) {
    const group = windowOf(source, values[from], node.geometry, at.c, at);
    const inside = group.x.filter((x) => !Number.isNaN(x));
    if (node.type === "max_pool2d") return { ...known, kind: "max", groups: [group], total: Math.max(...inside) };
    if (!node.geometry.plain) return { ...known, kind: "unknown", reason: "its windows are cut at the edge" };
    const count = node.geometry.counts_padding ? group.x.length : inside.length;
    return { ...known, kind: "mean", groups: [group], count, total: inside.reduce((sum, x) => sum + x, 0) / count };
  }
  const names = node.inputs.map((input) => network.nodes[input].name).join(", ");
  return { ...known, kind: "unknown", reason: `${node.type} of ${names}` };
}

function windowOf(source, x, geometry, channel, at) {
  const [, height, width] = planesOf(source);
  const [windowRows, windowColumns] = geometry.window;
  const group = { name: `${source.name}, channel ${channel}`, rows: windowRows, columns: windowColumns,
                  x: [], where: [] };
  for (let r = 0; r < windowRows; ++r) {
    for (let s = 0; s < windowColumns; ++s) {
      const row = at.y * geometry.stride[0] - geometry.pad[0] + r * geometry.dilation[0];
      const column = at.x * geometry.stride[1] - geometry.pad[1] + s * geometry.dilation[1];
      const inside = row >= 0 && row < height && column >= 0 && column < width;
      group.x.push(inside ? x[(channel * height + row) * width + column] : NaN);
      group.where.push({ c: channel, y: row, x: column });
    }
  }
  return group;
}

function windowsOf(network, values, index, at) {
  const node = network.nodes[index], from = node.inputs[0], source = network.nodes[from];
  const channels = source.shape[0] / node.geometry.groups;
  const first = Math.floor((at.c * node.geometry.groups) / node.shape[0]) * channels;
  const size = node.geometry.window[0] * node.geometry.window[1];
  const groups = [];
  for (let c = 0; c < channels; ++c) {
    const group = windowOf(source, values[from], node.geometry, first + c, at);
    const start = (at.c * channels + c) * size;
    group.w = node.weightValues.subarray(start, start + size);
    groups.push(group);
  }
  return groups;
}

// A fully connected value reads a vector, which may be all there is: shown in rows of one length.
function vectorOf(source, all, node, vector, output) {
  const size = node.weightValues.length / node.shape[node.shape.length - 1], first = vector * size;
  const x = Array.from(all.slice(first, first + size));
  const columns = source.shape.length === 3 ? source.shape[2] : 2 ** Math.ceil(Math.log2(Math.sqrt(size)));
  const [, rows, width] = planesOf(source);
  const place = (i) => ({ c: Math.floor(i / (rows * width)), y: Math.floor(i / width) % rows, x: i % width });
  const where = x.map((_, i) => place(first + i));
  const w = node.weightValues.subarray(output * size, (output + 1) * size);
  return { name: source.name, rows: Math.ceil(size / columns), columns, x, w, where };
}
