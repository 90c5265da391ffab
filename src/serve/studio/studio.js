"use strict";
const $ = (id) => document.getElementById(id);
const form = $("form");
const fields = ["text", "second", "layer", "ablate"];
const first = "She is a great leader";
let running = 0;
let pages = [];

// ---- the state is in the link

function stateOf() {
  const state = new URLSearchParams();
  for (const id of fields) if ($(id).value) state.set(id, $(id).value);
  state.set("view", form.elements.view.value);
  return state;
}

function take(hash) {
  const state = new URLSearchParams(hash.replace(/^#/, ""));
  $("text").value = state.get("text") ?? first;
  for (const id of ["second", "ablate"]) $(id).value = state.get(id) ?? "";
  const layer = Number(state.get("layer") ?? 0);
  $("layer").value = String(layer < $("layer").options.length ? layer : 0);
  const views = [...form.elements.view].map((radio) => radio.value);
  form.elements.view.value = views.includes(state.get("view")) ? state.get("view") : "attention";
  arrange();
}

function arrange() {
  $("layer-box").hidden = form.elements.view.value !== "explain";
}

// ---- requests

async function ask(path, body) {
  const headers = {};
  if (body) headers["content-type"] = "application/json";
  if ($("key").value) headers.authorization = "Bearer " + $("key").value;
  const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
  if (answer.ok) return answer;
  const error = await answer.json().catch(() => ({}));
  throw new Error(error.error?.message ?? error.error ?? "status " + answer.status);
}

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").classList.toggle("bad", bad);
}

// ---- results

function element(name, text = "", more = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  Object.assign(made, more);
  return made;
}

function section(title) {
  const made = element("section");
  made.append(element("h2", title));
  return made;
}

// A page of the server, as the command line makes it, in a frame of its own.
async function framed(title, path, body) {
  const page = await (await ask(path, { ...body, format: "html" })).blob();
  const url = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  pages.push(url);
  const made = section(title);
  made.append(element("iframe", "", { src: url, title }));
  return made;
}

// One input as it is, and if heads are left out, without them beside it.
async function pagesOf(path, name) {
  const body = { inputs: $("text").value };
  if ($("second").value) body.text_pair = $("second").value;
  if (path === "/explain") body.layer = Number($("layer").value);
  const made = [await framed(name, path, body)];
  const ablate = $("ablate").value.trim();
  if (ablate) made.push(await framed(`${name} without heads ${ablate}`, path, { ...body, ablate }));
  return made;
}

function table(caption, columns, rows) {
  const made = element("table");
  made.append(element("caption", caption));
  const head = element("tr");
  for (const column of columns) head.append(element("th", column, { scope: "col" }));
  made.append(head);
  for (const row of rows) {
    const line = element("tr");
    row.forEach((cell, i) => line.append(i === 0 ? element("th", cell, { scope: "row" }) : element("td", cell.text ?? cell, { className: cell.best ? "best" : "" })));
    made.append(line);
  }
  const box = element("div", "", { className: "scroll", tabIndex: 0 });
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", caption);
  box.append(made);
  return box;
}

const cosine = (a, b) => {
  let dot = 0, aa = 0, bb = 0;
  for (let i = 0; i < a.length; i++) { dot += a[i] * b[i]; aa += a[i] * a[i]; bb += b[i] * b[i]; }
  return aa && bb ? dot / Math.sqrt(aa * bb) : 0;
};

// The cosine of every token of the first text and every token of the second.
async function tokens() {
  const inputs = [$("text").value, $("second").value || $("text").value];
  const names = await (await ask("/tokenize", { inputs })).json();
  const vectors = await (await ask("/embed_all", { inputs })).json();
  const rows = vectors[0].map((vector, i) => {
    const row = vectors[1].map((other) => cosine(vector, other));
    const best = row.indexOf(Math.max(...row));
    return [names[0][i].text, ...row.map((value, k) => ({ text: value.toFixed(2), best: k === best }))];
  });
  const made = section("Tokens, by similarity");
  made.append(table("Cosine of the tokens' vectors after the last layer; the best of each row is underlined",
    ["", ...vectors[1].map((_, k) => names[1][k].text)], rows));
  return [made];
}

async function layers() {
  if (!$("second").value) throw new Error("this view needs a second text");
  const body = { inputs: [$("text").value, $("second").value] };
  const ablate = $("ablate").value.trim();
  if (ablate) body.ablate = ablate;
  const answer = await (await ask("/compare", body)).json();
  const made = section("Layers and heads, two texts");
  const vector = answer.embedding;
  made.append(element("p", vector ? `Sentence vectors: cosine ${vector.cosine.toFixed(4)}.` : "The sentence vectors have different widths."));
  if (answer.layers.length === 0) {
    made.append(element("p", "The texts have different numbers of tokens: layers and heads can be compared only for equal numbers."));
    return [made];
  }
  made.append(table("Hidden states by layer; 0 is what enters the first one", ["layer", "cosine", "greatest difference"],
    answer.layers.map((row) => [String(row.layer), row.cosine.toFixed(4), row.max_abs.toFixed(4)])));
  made.append(table("Attention by head, Jensen-Shannon distance", ["head", "distance"],
    answer.heads.map((row) => [`${row.layer}.${row.head}`, row.distance.toFixed(4)])));
  return [made];
}

const views = {
  attention: () => pagesOf("/attention", "Attention"),
  explain: () => pagesOf("/explain", `Steps of layer ${$("layer").value}`),
  tokens,
  layers,
};

async function show() {
  const number = ++running;
  say("Working …");
  const old = pages;
  pages = [];
  try {
    const made = await views[form.elements.view.value]();
    if (number !== running) return;
    $("results").classList.toggle("two", made.length > 1);
    $("results").replaceChildren(...made);
    say("Done.");
  } catch (error) {
    if (number === running) say(error.message, true);
  }
  for (const url of old) URL.revokeObjectURL(url);
}

async function start() {
  try {
    const info = await (await ask("/info")).json();
    $("facts").textContent = `${info.served_model_name}: ${info.n_layers} layers with ${info.n_heads} heads each, ${info.dimensions} numbers per vector, ${info.model_dtype}.`;
    document.title = `${info.served_model_name} · mha studio`;
    $("layer").replaceChildren(...Array.from({ length: info.n_layers }, (_, i) => element("option", String(i), { value: String(i) })));
    take(location.hash);
    await show();
  } catch (error) {
    take(location.hash);
    say(error.message, true);
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  history.pushState(null, "", "#" + stateOf());
  if ($("layer").options.length === 0) return start();
  await show();
});
form.addEventListener("change", arrange);
$("text").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(); });
addEventListener("popstate", () => { take(location.hash); show(); });
start();
