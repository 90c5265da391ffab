"use strict";
const meta = JSON.parse(document.getElementById("meta").textContent);
const $ = (id) => document.getElementById(id);

// ---- weights: little-endian uint16 (w · 65535), or uint8 (√w · 255) for very large inputs

function unpack() {
  const bytes = Uint8Array.from(atob($("weights").textContent), (c) => c.charCodeAt(0));
  const wide = meta.weights === "u16";
  const out = new Float32Array(wide ? bytes.length / 2 : bytes.length);
  for (let i = 0; i < out.length; i++) {
    out[i] = wide ? (bytes[2 * i] | (bytes[2 * i + 1] << 8)) / 65535 : (bytes[i] / 255) ** 2;
  }
  return out;
}
const weights = unpack();
const pieces = meta.tokens;
const heads = meta.layers.flatMap((layer, l) => meta.heads.map((head, h) => ({ layer, head, index: l * meta.heads.length + h })));

// ---- pieces or words, with or without specials

const words = [];
const wordOf = pieces.map((p, i) => {
  const before = pieces[i - 1];
  if (i > 0 && p.word >= 0 && p.word === before.word && p.sequence === before.sequence) {
    words[words.length - 1].text += p.text;
    words[words.length - 1].count++;
  } else {
    words.push({ ...p, position: words.length, count: 1 });
  }
  return words.length - 1;
});

const state = { view: "matrix", unit: "pieces", hide: false, threshold: 0, search: "", head: 0, token: -1, sticky: false };
let cache = new Map();

function labels() {
  const all = state.unit === "words" ? words : pieces;
  return all.map((label, i) => ({ position: i, ...label, i })).filter((label) => !(state.hide && label.special));
}

// The map of a head in the chosen unit: { n, w } with w[q * n + k]. Weights to a word are summed, from a word averaged.
function mapOf(head) {
  if (cache.has(head)) return cache.get(head);
  const t = pieces.length;
  const from = weights.subarray(head * t * t, (head + 1) * t * t);
  let n = t;
  let full = from;
  if (state.unit === "words") {
    n = words.length;
    full = new Float32Array(n * n);
    for (let q = 0; q < t; q++) for (let k = 0; k < t; k++) full[wordOf[q] * n + wordOf[k]] += from[q * t + k] / words[wordOf[q]].count;
  }
  const kept = labels().map((label) => label.i);
  const w = new Float32Array(kept.length * kept.length);
  kept.forEach((q, r) => kept.forEach((k, c) => { w[r * kept.length + c] = full[q * n + k]; }));
  const map = { n: kept.length, w };
  cache.set(head, map);
  if (cache.size > 64) cache.delete(cache.keys().next().value);
  return map;
}

// ---- colour: the scale of the terminal and of the pictures

const anchors = meta.scale;
function color(weight) {
  const at = Math.sqrt(Math.min(Math.max(weight, 0), 1)) * (anchors.length - 1);
  const i = Math.min(Math.floor(at), anchors.length - 2);
  return anchors[i].map((a, c) => Math.round(a + (at - i) * (anchors[i + 1][c] - a)));
}
const ramp = new Uint32Array(1025);
for (let i = 0; i <= 1024; i++) {
  const [r, g, b] = color((i / 1024) ** 2);
  ramp[i] = (255 << 24) | (b << 16) | (g << 8) | r;
}
const shade = (w) => ramp[Math.round(Math.sqrt(w) * 1024)];

function paint(canvas, map) {
  canvas.width = Math.max(map.n, 1);
  canvas.height = Math.max(map.n, 1);
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < map.w.length; i++) pixels[i] = map.w[i] * 100 < state.threshold ? ramp[0] : shade(map.w[i]);
  context.putImageData(image, 0, 0);
}

const percent = (w) => (w * 100 >= 10 || w === 0 ? Math.round(w * 100) : (w * 100).toPrecision(2)) + " %";
const axis = (value) => (value === null ? "mean" : value);
const headName = (h) => meta.rollout ? "rollout over all layers and heads" : `layer ${axis(h.layer)}, head ${axis(h.head)}`;
const matches = (label) => state.search !== "" && label.text.toLowerCase().includes(state.search);

// ---- the grid of heads; only what is visible is painted

const grid = $("grid");
const side = Math.max(28, Math.min(84, Math.floor(Math.max(innerWidth * 0.42, 300) / meta.heads.length) - 12));
grid.style.gridTemplateColumns = `repeat(${meta.heads.length}, auto)`;
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    entry.target.shown = entry.isIntersecting;
    if (entry.isIntersecting && entry.target.stale) paintHead(entry.target);
  }
}, { rootMargin: "150px" });

function paintHead(item) {
  item.stale = false;
  paint(item.firstChild, mapOf(item.head));
}

for (const h of heads) {
  const item = document.createElement("div");
  item.className = "head";
  item.id = `head-${h.index}`;
  item.setAttribute("role", "option");
  item.setAttribute("aria-label", headName(h));
  item.head = h.index;
  item.stale = true;
  const canvas = document.createElement("canvas");
  canvas.style.width = canvas.style.height = `${side}px`;
  item.append(canvas, meta.rollout ? "rollout" : `${axis(h.layer)}.${axis(h.head)}`);
  item.addEventListener("click", () => choose(h.index));
  grid.append(item);
  seen.observe(item);
}
grid.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: meta.heads.length, ArrowUp: -meta.heads.length }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const to = state.head + step;
  if (to >= 0 && to < heads.length) choose(to);
});

function choose(head) {
  state.head = head;
  drawDetail();
  $(`head-${head}`).scrollIntoView({ block: "nearest", inline: "nearest" });
}

// ---- one head: matrix, lines or table

const stage = $("stage");
const svg = (name, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};
const short = (text, n = 14) => ([...text].length > n ? [...text].slice(0, n - 1).join("") + "…" : text);
const visible = (text) => (text.trim() === "" ? "␠" : text.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, "␦"));

function drawMatrix(list, map) {
  const n = map.n;
  const cell = Math.max(9, Math.min(34, Math.floor(Math.min(700, innerWidth - 190) / Math.max(n, 1))));
  const left = 110;
  const top = 110;
  const ratio = devicePixelRatio || 1;
  const canvas = document.createElement("canvas");
  canvas.width = (left + n * cell + 60) * ratio;
  canvas.height = (top + n * cell + 4) * ratio;
  canvas.style.width = `${left + n * cell + 60}px`;
  canvas.style.height = `${top + n * cell + 4}px`;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  const c = canvas.getContext("2d");
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink");
  const accent = getComputedStyle(document.documentElement).getPropertyValue("--accent");
  const small = document.createElement("canvas");
  paint(small, map);
  const draw = (row, column) => {
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, canvas.width, canvas.height);
    c.imageSmoothingEnabled = false;
    c.drawImage(small, left, top, n * cell, n * cell);
    const size = Math.min(13, Math.max(7, cell - 1));
    list.forEach((label, i) => {
      const strong = i === row || i === column || matches(label);
      c.font = `${strong ? "700 " : ""}${size}px system-ui, sans-serif`;
      c.fillStyle = matches(label) ? accent : ink;
      c.textBaseline = "middle";
      c.textAlign = "right";
      c.fillText(short(visible(label.text)), left - 5, top + (i + 0.5) * cell);
      c.save();
      c.translate(left + (i + 0.5) * cell, top - 5);
      c.rotate(-Math.PI / 3);
      c.textAlign = "left";
      c.fillText(short(visible(label.text)), 0, 0);
      c.restore();
    });
    if (cell >= 24) {
      c.font = "10px system-ui, sans-serif";
      c.textAlign = "center";
      for (let q = 0; q < n; q++) {
        for (let k = 0; k < n; k++) {
          const w = map.w[q * n + k];
          if (w < 0.005 || w * 100 < state.threshold) continue;
          const [r, g, b] = color(w);
          c.fillStyle = 0.2126 * r + 0.7152 * g + 0.0722 * b > 110 ? "#000" : "#fff";
          c.fillText(String(Math.round(w * 100)), left + (k + 0.5) * cell, top + (q + 0.5) * cell);
        }
      }
    }
    c.strokeStyle = accent;
    c.lineWidth = 2;
    if (row >= 0) c.strokeRect(left, top + row * cell, n * cell, cell);
    if (column >= 0) c.strokeRect(left + column * cell, top, cell, n * cell);
  };
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    const at = (v, start) => Math.floor((v - start) / cell);
    return [at(event.clientY - box.top, top), at(event.clientX - box.left, left)];
  };
  canvas.addEventListener("pointermove", (event) => {
    const [q, k] = place(event);
    const row = q >= 0 && q < n ? q : -1;
    const column = k >= 0 && k < n ? k : -1;
    draw(row, column);
    if (row >= 0) showPartners(row, column);
    else if (column >= 0) showPartners(column, -1);
  });
  canvas.addEventListener("pointerleave", () => draw(state.token, -1));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || n === 0) return;
    event.preventDefault();
    const row = Math.min(Math.max(state.token + step, 0), n - 1);
    draw(row, -1);
    showPartners(row, -1);
  });
  canvas.setAttribute("aria-label", `${headName(heads[state.head])}: matrix of ${n} by ${n} weights; arrow keys move through the query tokens`);
  draw(state.token, -1);
  stage.replaceChildren(canvas);
}

function drawLines(list, map) {
  const n = map.n;
  const step = 22;
  const width = 420;
  const root = svg("svg", { width, height: n * step + 10, viewBox: `0 0 ${width} ${n * step + 10}`, role: "group", "aria-label": "Tokens that ask on the left, tokens that are listened to on the right" });
  const lines = svg("g", {});
  root.append(lines);
  const texts = [[], []];
  const y = (i) => i * step + 16;
  const show = (only) => {
    lines.replaceChildren();
    for (let q = 0; q < n; q++) {
      if (only >= 0 && q !== only) continue;
      for (let k = 0; k < n; k++) {
        const w = map.w[q * n + k];
        if (w * 100 < Math.max(state.threshold, n > 60 && only < 0 ? 5 : 0.5)) continue;
        lines.append(svg("line", { x1: 145, y1: y(q) - 4, x2: width - 145, y2: y(k) - 4, "stroke-opacity": Math.sqrt(w).toFixed(3), "stroke-width": (0.5 + 3 * w).toFixed(2) }));
      }
    }
    texts[0].forEach((text, i) => text.classList.toggle("dim", only >= 0 && i !== only));
    texts[1].forEach((text, k) => text.classList.toggle("dim", only >= 0 && map.w[only * n + k] < 0.05));
  };
  list.forEach((label, i) => {
    [[140, "end"], [width - 140, "start"]].forEach(([x, anchor], column) => {
      const text = svg("text", { x, y: y(i), "text-anchor": anchor });
      text.textContent = short(visible(label.text), 18);
      if (matches(label)) text.classList.add("found");
      if (column === 0) {
        text.setAttribute("tabindex", "0");
        const enter = () => { show(i); showPartners(i, -1); };
        text.addEventListener("pointerenter", enter);
        text.addEventListener("focus", enter);
        text.addEventListener("pointerleave", () => show(-1));
        text.addEventListener("blur", () => show(-1));
      }
      texts[column].push(text);
      root.append(text);
    });
  });
  show(-1);
  stage.replaceChildren(root);
}

function drawTable(list, map) {
  const limit = 64;
  const shown = list.slice(0, limit);
  const table = document.createElement("table");
  const caption = table.createCaption();
  caption.textContent = `${headName(heads[state.head])}: weights in percent` + (list.length > limit ? `, the first ${limit} of ${list.length} tokens` : "");
  const header = (label, scope) => {
    const th = document.createElement("th");
    th.scope = scope;
    th.textContent = short(visible(label.text));
    if (matches(label)) th.classList.add("found");
    return th;
  };
  const top = table.createTHead().insertRow();
  top.append(document.createElement("td"), ...shown.map((label) => header(label, "col")));
  const body = table.createTBody();
  shown.forEach((label, q) => {
    const row = body.insertRow();
    row.append(header(label, "row"));
    shown.forEach((_, k) => {
      const w = map.w[q * map.n + k];
      const cell = row.insertCell();
      cell.textContent = w * 100 < state.threshold ? "" : (w * 100).toFixed(1);
    });
    row.addEventListener("pointerenter", () => {
      for (const other of body.rows) other.classList.toggle("current", other === row);
      showPartners(q, -1);
    });
  });
  stage.replaceChildren(table);
}

function showPartners(row, column) {
  state.token = row;
  const list = labels();
  const map = mapOf(state.head);
  const box = $("partners");
  if (row < 0 || row >= map.n) {
    box.replaceChildren();
    return;
  }
  const ranked = (weight) => list.map((label, i) => ({ label, i, w: weight(i) })).sort((a, b) => b.w - a.w || a.i - b.i).slice(0, 6);
  const section = (title, entries) => {
    const h = document.createElement("h3");
    h.textContent = title;
    const ol = document.createElement("ol");
    for (const { label, i, w } of entries) {
      const li = document.createElement("li");
      li.textContent = `${visible(label.text)} (#${label.position}): ${percent(w)}`;
      ol.append(li);
    }
    return [h, ol];
  };
  const name = visible(list[row].text);
  const parts = [...section(`“${name}” listens to`, ranked((k) => map.w[row * map.n + k])),
                 ...section(`“${name}” is heard by`, ranked((q) => map.w[q * map.n + row]))];
  if (column >= 0) {
    const p = document.createElement("p");
    p.textContent = `${name} → ${visible(list[column].text)}: ${percent(map.w[row * map.n + column])}`;
    parts.unshift(p);
  }
  box.replaceChildren(...parts);
}

function drawDetail() {
  const list = labels();
  const map = mapOf(state.head);
  if (state.token >= map.n) state.token = -1;
  $("head-title").textContent = headName(heads[state.head]).replace(/^l/, "L");
  for (const item of grid.children) item.setAttribute("aria-selected", String(item.head === state.head));
  grid.setAttribute("aria-activedescendant", `head-${state.head}`);
  ({ matrix: drawMatrix, lines: drawLines, table: drawTable })[state.view](list, map);
  showPartners(state.token, -1);
}

function refresh() {
  cache = new Map();
  for (const item of grid.children) {
    item.stale = true;
    if (item.shown) paintHead(item);
  }
  drawDetail();
}

// ---- controls

for (const input of document.querySelectorAll("#controls input[type=radio]")) {
  input.addEventListener("change", () => {
    state[input.name] = input.value;
    state.token = input.name === "unit" ? -1 : state.token;
    if (input.name === "unit") refresh();
    else drawDetail();
  });
}
$("hide").addEventListener("change", (event) => { state.hide = event.target.checked; state.token = -1; refresh(); });
$("threshold").addEventListener("input", (event) => {
  state.threshold = Number(event.target.value);
  $("threshold-value").textContent = `${state.threshold} %`;
  refresh();
});
$("search").addEventListener("input", (event) => {
  state.search = event.target.value.trim().toLowerCase();
  const found = state.search === "" ? -1 : labels().findIndex(matches);
  if (found >= 0) state.token = found;
  drawDetail();
});
$("theme").addEventListener("change", (event) => {
  if (event.target.value === "") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = event.target.value;
  drawDetail();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawDetail);
$("controls").addEventListener("submit", (event) => event.preventDefault());

$("text").textContent = meta.text + (meta.text_pair === undefined ? "" : " ‖ " + meta.text_pair);
const counted = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;
$("facts").textContent = [`${meta.model}: ${meta.rollout ? "" : `${counted(meta.layers.length, "layer")} × ${counted(meta.heads.length, "head")}, `}${counted(pieces.length, "token")}`, ...meta.notes].join("; ");
$("scale").firstChild.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(Uint32Array.from({ length: 256 }, (_, i) => ramp[i * 4]).buffer), 256, 1), 0, 0);
drawDetail();
