// One value: what it reads, its weights, and the sum that gives it.

const maxGroups = 16;

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function nameOfValue(node, at) {
  if (node.shape.length !== 3) return `${node.name}, value ${at.x}`;
  const [channels, rows, columns] = node.shape;
  const parts = [node.name];
  if (channels > 1) parts.push(`channel ${at.c}`);
  if (rows * columns > 1) parts.push(`row ${at.y}`, `column ${at.x}`);
  return parts.join(", ");
}

function showValue(box, title, network, values, index, at) {
  const node = network.nodes[index], found = explain(network, values, index, at);
  title.textContent = nameOfValue(node, at);
  box.replaceChildren(element("p", exact(found.value), "value"));
  box.dataset.value = String(found.value);
  box.dataset.total = found.total === undefined ? "" : String(found.total);
  box.append(...descriptionOf(node, found));
  if (found.kind === "sum") box.append(sumTable(found), numbersOf(found));
  if (found.kind === "max" || found.kind === "mean") box.append(windowTable(found.groups[0]));
  return found;
}

function descriptionOf(node, found) {
  const paragraphs = [];
  const add = (text) => paragraphs.push(element("p", text));
  const count = found.groups.reduce((sum, group) => sum + group.x.length, 0);
  switch (found.kind) {
    case "input":
      add("A value of the input: a pixel, normalised.");
      break;
    case "same":
      add(node.type === "relu" ? `max(${exact(found.groups[0].x[0])}, 0), of ${found.groups[0].name}.`
                               : `${node.description || node.type} of ${exact(found.groups[0].x[0])}, ` +
                                 `of ${found.groups[0].name}.`);
      break;
    case "sum":
      add(`A bias and ${count} products: what it reads × its weights.`);
      break;
    case "max":
      add(`The largest of ${count} values.`);
      break;
    case "mean":
      add(`The sum of its values divided by ${found.count}.`);
      break;
    default:
      if (found.reason) add(`Without its sum: ${found.reason}.`);
  }
  return paragraphs;
}

function cellWith(child) {
  const cell = element("td");
  cell.append(child);
  return cell;
}

function sumTable(found) {
  const table = element("table"), head = element("tr");
  for (const text of ["reads", "weights", "products", "sum"])
    head.append(element("th", text, text === "sum" ? "n" : ""));
  table.append(head);
  const order = [...found.groups].sort((a, b) => Math.abs(b.sum) - Math.abs(a.sum));
  const shown = new Set(order.slice(0, maxGroups));
  const products = (group) => Array.from(group.x, (x, i) => x * group.w[i]);
  const maxWidth = found.groups.length === 1 && found.groups[0].columns > 8 ? 96 : 52;
  const reads = Math.max(...found.groups.map((group) => limitOf(group.x)));
  const weights = Math.max(...found.groups.map((group) => limitOf(group.w)));
  const made = Math.max(...found.groups.map((group) => limitOf(products(group))));
  for (const group of found.groups) {
    if (!shown.has(group)) continue;
    const row = element("tr");
    row.title = group.name;
    row.append(cellWith(miniature(group.x, group.rows, group.columns, reads, maxWidth)),
               cellWith(miniature(group.w, group.rows, group.columns, weights, maxWidth)),
               cellWith(miniature(products(group), group.rows, group.columns, made, maxWidth)),
               element("td", short(group.sum), "n"));
    table.append(row);
  }
  const line = (text, value, className) => {
    const row = element("tr", undefined, className), cell = element("td", text);
    cell.colSpan = 3;
    row.append(cell, element("td", value, "n"));
    table.append(row);
  };
  const rest = found.groups.filter((group) => !shown.has(group));
  if (rest.length > 0) line(`${rest.length} more channels`, short(rest.reduce((sum, group) => sum + group.sum, 0)));
  line("bias", short(found.bias));
  line("sum, in double precision", plain(Number(found.total.toPrecision(9))), "sum");
  line("the layer wrote", exact(found.value));
  line("difference", short(Math.abs(found.total - found.value)));
  return table;
}

function windowTable(group) {
  const table = element("table");
  for (let r = 0; r < group.rows; ++r) {
    const row = element("tr");
    for (let s = 0; s < group.columns; ++s) {
      const x = group.x[r * group.columns + s];
      row.append(element("td", Number.isNaN(x) ? "padding" : exact(x)));
    }
    table.append(row);
  }
  return table;
}

// Every product in numbers, made when it is opened.
function numbersOf(found) {
  const details = element("details");
  details.append(element("summary", "All products in numbers"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    const table = element("table"), head = element("tr");
    for (const text of ["of", "reads", "× weight", "= product"])
      head.append(element("th", text, text === "of" ? "" : "n"));
    table.append(head);
    for (const group of found.groups) {
      group.x.forEach((x, i) => {
        const row = element("tr"), padding = Number.isNaN(x), at = group.where[i];
        const isPlane = group.columns * group.rows === group.x.length && group.where[0].c === at.c;
        const name = isPlane ? `${at.c}: ${at.y}, ${at.x}` : String(i);
        row.append(element("td", name), element("td", padding ? "padding" : exact(x), "n"),
                   element("td", exact(group.w[i]), "n"),
                   element("td", padding ? "0" : short(x * group.w[i]), "n"));
        table.append(row);
      });
    }
    details.append(table);
  });
  return details;
}
