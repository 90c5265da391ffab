"use strict";
const $ = (id) => document.getElementById(id);
const meta = JSON.parse($("meta").textContent);
const { tokens, rows, heads, stages } = meta;

// ---- numbers: little-endian float32, a stage after the other [heads][rows][stored], then lengths of shares [heads][rows]

const bytes = Uint8Array.from(atob($("numbers").textContent), (c) => c.charCodeAt(0));
const view = new DataView(bytes.buffer);
const numbers = Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
let at = 0;
for (const stage of stages) {
  stage.begin = at;
  at += heads.length * rows * stage.stored;
}
const lengths = at;
const stageOf = (name) => stages.find((stage) => stage.name === name);
const matrix = (stage, h) => numbers.subarray(stage.begin + h * rows * stage.stored, stage.begin + (h + 1) * rows * stage.stored);
const listened = (h, q) => matrix(stageOf("probabilities"), h).subarray(q * tokens.length, (q + 1) * tokens.length);
// A token beyond the rows that are here: what the page says of it stays.
const state = { head: 0, token: meta.token < rows ? meta.token : -1 };

// ---- colours: weights on the scale of every picture, other numbers from blue (below 0) to orange

function scale(weight) {
  const place = Math.sqrt(Math.min(Math.max(weight, 0), 1)) * (meta.scale.length - 1);
  const i = Math.min(Math.floor(place), meta.scale.length - 2);
  return meta.scale[i].map((a, c) => Math.round(a + (place - i) * (meta.scale[i + 1][c] - a)));
}
function tint(cell, stage, value, greatest) {
  if (stage.name === "probabilities") {
    const [r, g, b] = scale(value);
    cell.style.backgroundColor = `rgb(${r},${g},${b})`;
    cell.style.color = 0.2126 * r + 0.7152 * g + 0.0722 * b > 110 ? "#000" : "#fff";
  } else if (greatest > 0) {
    const share = Math.abs(value) / greatest;
    cell.style.backgroundColor = `rgba(${value < 0 ? "64,120,220" : "230,140,30"},${(0.5 * share).toFixed(3)})`;
  }
}

// ---- the matrices of the chosen head, filled when they are opened

function fill(details) {
  const stage = details.stage;
  const values = matrix(stage, state.head);
  let greatest = 0;
  for (const value of values) if (Number.isFinite(value)) greatest = Math.max(greatest, Math.abs(value));
  const table = document.createElement("table");
  const top = table.createTHead().insertRow();
  const header = (row, text, scope) => {
    const th = document.createElement("th");
    th.scope = scope;
    th.textContent = text;
    row.append(th);
  };
  top.insertCell();
  for (let c = 0; c < stage.shown; c++) header(top, stage.keys ? tokens[c] : c, "col");
  const cut = stage.shown < stage.columns;
  if (cut) header(top, "…", "col");
  const body = table.createTBody();
  for (let r = 0; r < rows; r++) {
    const row = body.insertRow();
    row.classList.toggle("current", r === state.token);
    header(row, tokens[r], "row");
    for (let c = 0; c < stage.shown; c++) {
      const value = values[r * stage.stored + c];
      const cell = row.insertCell();
      if (!Number.isFinite(value)) continue;
      cell.textContent = value.toFixed(3);
      tint(cell, stage, value, greatest);
    }
    if (cut) row.insertCell().textContent = "…";
  }
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  scroll.tabIndex = 0;
  scroll.append(table);
  details.querySelector(".scroll")?.remove();
  details.append(scroll);
  details.stale = false;
}

const panels = [];
const buttons = [];
for (const box of document.querySelectorAll("[data-stages]")) {
  const parts = [];
  for (const name of box.dataset.stages.split(" ")) {
    const stage = stageOf(name);
    if (stage === undefined) continue;
    if (name === "probabilities") parts.push(multiples());
    const details = document.createElement("details");
    details.stage = stage;
    details.append(document.createElement("summary"));
    details.open = name === "probabilities";
    details.addEventListener("toggle", () => { if (details.open && details.stale) fill(details); });
    panels.push(details);
    parts.push(details);
  }
  box.replaceChildren(...parts);
}

function multiples() {
  const box = document.createElement("div");
  box.className = "multiples";
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Attention of every head");
  heads.forEach((head, h) => {
    const button = document.createElement("button");
    button.type = "button";
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = Math.max(rows, 1);
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    for (let q = 0; q < rows; q++) listened(h, q).slice(0, rows).forEach((weight, k) => image.data.set([...scale(weight), 255], 4 * (q * rows + k)));
    context.putImageData(image, 0, 0);
    button.append(canvas, `head ${head}`);
    button.addEventListener("click", () => choose(h, state.token));
    buttons.push(button);
    box.append(button);
  });
  return box;
}

// ---- what the numbers say of the chosen token, a line a head

const percent = (share) => `${Math.round(share * 100)} %`;
function strongest(row) {
  return [...row.keys()].sort((a, b) => row[b] - row[a] || a - b);
}
const sentences = {
  scores: (h, name) => {
    const row = listened(h, state.token);
    const list = strongest(row).slice(0, 3).filter((k, i) => i === 0 || row[k] >= 0.005);
    return `head ${heads[h]}: ${name} → ${list.map((k) => `${tokens[k]} ${percent(row[k])}`).join(", ")}`;
  },
  context: (h, name) => {
    const row = listened(h, state.token);
    const most = strongest(row)[0];
    return `head ${heads[h]}: Z of ${name} is ${percent(row[most])} the V of ${tokens[most]}`;
  },
  output: (h) => {
    const begin = heads[h] * meta.d_head;
    const length = numbers[lengths + h * rows + state.token];
    return `head ${heads[h]}: columns ${begin} to ${begin + meta.d_head - 1}, share of length ${Number(length.toFixed(3))}`;
  },
};

function tell() {
  if (state.token < 0) {
    for (const item of document.querySelectorAll("[data-findings] li")) item.classList.toggle("current", item.textContent.startsWith(`head ${heads[state.head]}:`));
    return;
  }
  for (const list of document.querySelectorAll("[data-findings]")) {
    const sentence = sentences[list.dataset.findings];
    list.replaceChildren(...heads.map((_, h) => {
      const item = document.createElement("li");
      item.textContent = sentence(h, tokens[state.token]);
      item.classList.toggle("current", h === state.head);
      return item;
    }));
  }
  for (const name of document.querySelectorAll("[data-token]")) name.textContent = tokens[state.token];
}

function choose(head, token) {
  state.head = head;
  state.token = token;
  $("heads").querySelectorAll("input")[head].checked = true;
  $("token").value = String(token);
  buttons.forEach((button, h) => button.setAttribute("aria-pressed", String(h === head)));
  for (const details of panels) {
    const { what, rows: all, columns } = details.stage;
    details.firstChild.textContent = `head ${heads[head]}: ${what}: (${all}, ${columns})`;
    details.stale = true;
    if (details.open) fill(details);
  }
  tell();
}

heads.forEach((head, h) => {
  const label = document.createElement("label");
  const input = document.createElement("input");
  input.type = "radio";
  input.name = "head";
  input.addEventListener("change", () => choose(h, state.token));
  const span = document.createElement("span");
  span.textContent = head;
  label.append(input, span);
  $("heads").append(label);
});
tokens.slice(0, rows).forEach((token, i) => $("token").append(new Option(`${token} (#${i})`, String(i))));
$("token").addEventListener("change", (event) => choose(state.head, Number(event.target.value)));
$("picker").addEventListener("submit", (event) => event.preventDefault());
$("picker").hidden = false;
for (const note of document.querySelectorAll(".static")) note.remove();
if (heads.length > 0 && rows > 0) choose(0, state.token);
