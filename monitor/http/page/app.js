// The dashboard: #/ all runs, #/run/ID one, #/rows/ID what it made up, #/grid/ID a grid, #/compare/ID,ID several over each other;
// runs may go on with /FROM-TO, steps that figures show, and one with /epsilon. What is seen is what the server
// says; nothing is kept but in the address.
"use strict";

const main = document.getElementById("main"), link = document.getElementById("link");
const number = charts.number;
let events = null, view = null, runs = [], quantities = [], sorting = {key: "name", down: false};

function element(tag, properties, ...children) {
  const out = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {}))
    if (key === "class") out.className = value; else if (key.startsWith("on")) out.addEventListener(key.slice(2), value);
    else if (key in out && key !== "role") out[key] = value; else out.setAttribute(key, value);
  out.append(...children.filter((c) => c !== null && c !== undefined));
  return out;
}

/// The steps of an address's last part, and the part of steps.
function rangeIn(text) { const found = /^(\d+)-(\d+)$/.exec(text || ""); return found ? [+found[1], +found[2]] : null; }
function remember(...parts) { history.replaceState(null, "", "#/" + parts.filter(Boolean).join("/")); }
const rangeText = (range) => range ? range.join("-") : "all";

/// Replaces what is in `of`; what is nothing is left out.
function fill(of, ...children) { of.replaceChildren(...children.filter((c) => c !== null && c !== undefined)); }

/// Sentences of the contract are HTML with b, code and sup alone: anything else stays text.
function sentence(html) {
  const out = document.createDocumentFragment(), parsed = new DOMParser().parseFromString(html, "text/html").body;
  const copy = (from, to) => from.childNodes.forEach((node) => {
    if (node.nodeType === Node.TEXT_NODE) to.append(node.textContent);
    else if (["B", "CODE", "SUP"].includes(node.tagName)) { const made = element(node.tagName.toLowerCase()); copy(node, made); to.append(made); }
    else copy(node, to);
  });
  copy(parsed, out);
  return out;
}

async function get(path) {
  const answer = await fetch(path, {credentials: "same-origin"});
  if (answer.status === 401) { signIn(); throw new Error("a token is needed"); }
  if (!answer.ok) throw new Error((await answer.text()).trim() || `HTTP ${answer.status}`);
  return answer.json();
}

function signIn() {
  close();
  main.replaceChildren(element("form", {class: "sign-in", method: "post", action: "sign-in"},
    element("h1", {}, "A token is needed"), element("label", {htmlFor: "token"}, "Token, as its owner gave it to you"),
    element("input", {id: "token", name: "token", type: "password", required: true, autocomplete: "off"}),
    element("button", {class: "button"}, "Look")));
}

function close() {
  if (events) events.close();
  events = null;
}

function listen(path, on) {
  close();
  events = new EventSource(path);
  events.onopen = () => { link.textContent = "live"; };
  const mine = events;
  events.onerror = () => {
    link.textContent = "no connection; trying again";
    // A server that has just begun may not know the run yet, and a browser that was refused asks no more.
    if (mine.readyState === EventSource.CLOSED) setTimeout(() => { if (events === mine) listen(path, on); }, 2000);
  };
  events.onmessage = (event) => { link.textContent = "live"; on(JSON.parse(event.data)); };
}

/// How a quantity's curve is drawn.
const curveOf = (quantity) => ({log: quantity.logarithmic, steps: quantity.stepwise});
const nameOf = (run) => run.title || run.name;
const tags = (run) => (run.tags || []).map((tag) => element("span", {class: "tag"}, tag));
const state = (run) => element("span", {class: "state " + run.state.split(" ").pop()}, run.state);
const epsilon = (run) => run.guarantee === undefined ? "–" : run.guarantee ? number(run.guaranteed_epsilon) : "none";
function progress(run) {
  const out = element("span", {class: "steps"}, element("progress", {max: run.steps || 1, value: run.step, "aria-label": `step ${run.step} of ${run.steps}`}));
  out.append(` ${run.step}/${run.steps}`);
  return out;
}

const columns = [
  {key: "name", title: "run", cell: (r) => element("span", {}, element("a", {href: "#/run/" + r.id, title: r.name}, nameOf(r)), ...tags(r))},
  {key: "state", title: "state", cell: state},
  {key: "method", title: "method", cell: (r) => r.method || "–", wide: true},
  {key: "step", title: "steps", cell: progress},
  {key: "guaranteed_epsilon", title: "ε guaranteed", cell: epsilon, n: true},
  {key: "progress_epsilon", title: "ε so far, no guarantee", cell: (r) => number(r.progress_epsilon), n: true, wide: true},
  {key: "loss", title: "loss", cell: (r) => number(r.loss), n: true},
  {key: "perplexity", title: "perplexity", cell: (r) => number(r.perplexity), n: true},
];

function overview() {
  const body = element("tbody"), chosen = new Set();
  let below = [];  // what names of grids' cells begin with: a grid has a table of its own
  const cells = element("input", {type: "checkbox", onchange: () => draw()});
  const choice = element("span", {class: "soft small"});
  const head = element("tr", {}, element("th", {}, "compare"), ...columns.map((c) => element("th", {class: (c.n ? "n " : "") + (c.wide ? "wide" : ""), scope: "col"},
    element("button", {type: "button", onclick: () => { sorting = {key: c.key, down: sorting.key === c.key && !sorting.down}; draw(); }}, c.title))));
  const compare = document.getElementById("to-compare"), count = element("p", {class: "soft"}, "loading …");
  const grids = element("div");
  main.replaceChildren(element("h1", {}, "Runs"), grids, count, choice, element("div", {class: "table"}, element("table", {class: "stacked"}, element("thead", {}, head), body)));
  function draw() {
    const alone = runs.filter((run) => !below.some((start) => run.name.startsWith(start))), listed = cells.checked ? runs : alone;
    fill(choice, runs.length > alone.length ? element("label", {}, cells, ` list the ${runs.length - alone.length} cells of grids, too`) : null);
    const order = listed.slice().sort((a, b) => (a[sorting.key] > b[sorting.key] ? 1 : a[sorting.key] < b[sorting.key] ? -1 : 0) * (sorting.down ? -1 : 1));
    const of = {};
    for (const run of listed) of[run.state] = (of[run.state] || 0) + 1;
    count.textContent = listed.length ? `${listed.length} in all: ` + Object.entries(of).map(([s, n]) => `${n} ${s}`).join(", ")
      : runs.length ? "" : "No run is here yet. rldp run CONFIG --out DIR makes one; it appears by itself.";
    body.replaceChildren(...order.map((run) => element("tr", {}, element("td", {},
      element("input", {type: "checkbox", checked: chosen.has(run.id), "aria-label": "compare " + nameOf(run), onchange: (e) => {
        e.target.checked ? chosen.add(run.id) : chosen.delete(run.id);
        compare.href = "#/compare/" + [...chosen].join(",");
      }})), ...columns.map((c) => element("td", {class: (c.n ? "n " : "") + (c.wide ? "wide" : ""), ...(c.n ? {"data-label": c.title} : {})}, c.cell(run))))));
  }
  const drawGrids = (all) => fill(grids, ...all.map((g) => element("p", {class: "grid-line"}, element("a", {href: "#/grid/" + g.id}, g.name),
    ` ${g.kind || "grid"}: `, element("progress", {max: g.cells || 1, value: g.done, "aria-label": `${g.done} of ${g.cells} cells done`}),
    ` ${g.done}/${g.cells} cells done` + (g.running ? `, ${g.running} under way` : "") + (g.failed ? `, ${g.failed} failed` : ""), g.problem ? element("span", {class: "bad"}, " " + g.problem) : null)));
  const load = () => get("api/runs").then((all) => { runs = all.runs; if (view === load) { below = all.grids.map((g) => g.name + "/cells/"); draw(); drawGrids(all.grids); } }).catch((e) => { link.textContent = e.message; });
  view = load;
  load();
  const again = setInterval(() => view === load ? load() : clearInterval(again), 30000);  // runs may have been removed
  listen("api/stream", (row) => {
    const at = runs.findIndex((r) => r.id === row.id);
    at < 0 ? runs.push(row) : runs[at] = row;
    draw();
  });
}

function within(interval) { return interval ? `; with 95 % from ${number(interval[0])} to ${number(interval[1])}, for its noise` : ""; }
function card(value, what) { return element("div", {class: "card"}, element("b", {}, value), element("span", {}, what)); }

/// Of whom the guarantee speaks.
const unit = (run) => run.contract.unit === "record" ? "each record" : `all records of one ${run.contract.unit}`;

function contract(run) {
  if (run.state === "damaged") return element("div", {class: "note bad contract"}, run.problem);
  if (!run.contract) return element("div", {class: "note contract"}, "Nothing is promised yet: the budget is not planned.");
  return element("div", {class: "note contract " + (run.contract.any ? "good" : "bad")}, sentence(run.contract.headline));
}

const list = (title, all) => all && all.length ? element("section", {}, element("h3", {}, title), element("ul", {}, ...all.map((s) => element("li", {}, sentence(s))))) : null;

/// What there is to see of a run; `here` is one of their addresses' first parts.
const tabs = (id, here) => element("nav", {class: "tabs", "aria-label": "Of this run"}, ...[["run", "Run"], ["rows", "Rows"]].map(([where, title]) =>
  element("a", {href: `#/${where}/${id}`, ...(where === here ? {"aria-current": "page"} : {})}, title)));

function oneRun(id, shownRange, shownAgainst) {
  const top = element("div"), figures = element("div", {class: "figures"}), below = element("div"), started = [];
  const against = element("select", {"aria-label": "what figures are drawn against", onchange: () => { note(); if (run) drawAll(); }},
    element("option", {value: "step"}, "against steps"), element("option", {value: "epsilon"}, "against ε so far (no guarantee)"));
  const heading = element("h2", {hidden: true}, "Over the run ", against);
  main.replaceChildren(top, heading, figures, below);
  top.append(element("p", {class: "soft"}, "loading …"));
  against.value = shownAgainst === "epsilon" ? "epsilon" : "step";
  let range = rangeIn(shownRange), run = null, waiting = false;
  const note = () => remember("run", id, range || against.value === "epsilon" ? rangeText(range) : "", against.value === "epsilon" ? "epsilon" : "");
  const setRange = (to) => { range = to; note(); load(); };
  const make = (title, more) => charts.lines(figures, Object.assign({title, onRange: setRange}, more));
  const drawings = quantities.map((q) => [q, make(q.title, curveOf(q))]);
  const radii = charts.heat(figures, {title: "Clip radius of each group"});
  const rates = charts.heat(figures, {title: "Rate factor of each group"});

  function drawTop() {
    const now = Date.now() / 1000;
    started.push([now, run.step]);
    if (started.length > 30) started.shift();
    const [then, step] = started[0], speed = run.step > step ? (run.step - step) / (now - then) : 0;
    const left = speed && !run.over ? `${Math.ceil((run.steps - run.step) / speed / 60)} min left` : run.state;
    fill(top, element("h1", {}, nameOf(run), " ", state(run)), tabs(id, "run"), run.notes ? element("p", {class: "notes"}, run.notes) : null, contract(run),
      element("div", {class: "cards"}, card(`${run.step} / ${run.steps}`, "steps; " + left),
        card(epsilon(run), run.contract && run.delta ? `ε guaranteed for ${unit(run)}, at δ = ${number(run.delta)}, of a budget of ${number(run.epsilon)}` : "ε guaranteed"),
        card(run.progress_step ? number(run.progress_epsilon) : "–", `ε of ${run.progress_step ? `the steps up to ${run.progress_step}` : "the steps so far, not priced yet"}: for orientation, no guarantee`),
        run.held_out === "none" ? card("kept", "held-out figures: only their owner has them") :
          card(run.perplexity_before ? `${number(run.perplexity_before)} → ${number(run.perplexity)}` : number(run.perplexity), `held-out perplexity, at step ${run.evaluated_step}${within(run.perplexity_in)}`),
        card(number(run.loss), "loss as released, nats a token")),
      element("p", {class: "soft small"}, [run.title && run.name, run.method, run.model, run.data].filter(Boolean).join(" · "), " ", ...tags(run), " · ",
        ...[["report", run.report], ["certificate", run.certificate]].flatMap(([page, there]) => there ? [element("a", {href: `api/runs/${run.id}/${page}.html`}, page), " · "] : []),
        element("a", {href: `api/runs/${run.id}/metrics.csv`}, "all figures as CSV"), " ", run.ledger_head ? element("code", {title: "hash of the ledger's last entry"}, "ledger " + run.ledger_head.slice(0, 16) + "…") : null), stopButton());
  }
  function stopButton() {
    if (!oneRun.mayStop || run.over) return null;
    return element("button", {class: "button bad", type: "button", onclick: async () => {
      if (!confirm("Stop this run? It ends after its step, and can be resumed.")) return;
      const answer = await fetch(`api/runs/${id}/stop`, {method: "POST", credentials: "same-origin"});
      link.textContent = (await answer.text()).trim();
    }}, "Stop");
  }
  function drawAll() {
    drawTop();
    heading.hidden = !Object.keys(run.curves).length;
    const across = against.value === "epsilon" && run.curves.progress_epsilon ? charts.through(run.curves.progress_epsilon, "ε so far") : null;
    for (const [q, figure] of drawings) figure.update([{name: q.name, points: run.curves[q.name] || [], dots: q.noisy}], range, across);
    const map = (key) => run.adapters.filter((a) => a[key]).map((a) => ({step: a.step, values: a[key]}));
    radii.update(run.groups, map("radii"), run.step);
    rates.update(run.groups, map("rates"), run.step);
    const sum = (key) => run.deck.reduce((all, level) => all + level[key], 0);
    const deck = run.deck && run.deck.length ? element("div", {class: "table narrow"}, element("table", {},
      element("caption", {}, `Deck left to play: ${sum("left")} of ${sum("planned")} steps, by noise multiplier`),
      element("tbody", {}, ...run.deck.map((level) => element("tr", {}, element("th", {scope: "row"}, `z = ${number(level.noise_multiplier)}`),
        element("td", {class: "steps"}, element("progress", {max: level.planned, value: level.left, "aria-label": `${level.left} of ${level.planned} steps left`}), ` ${level.left} of ${level.planned}`)))))) : null;
    fill(below, deck, element("h2", {}, "What is guaranteed, and what is not"),
      run.contract ? element("div", {class: "pair"}, list("Guaranteed", run.contract.holds), list("Not guaranteed", run.contract.does_not)) : null,
      run.controller.length ? element("h2", {}, "The prepared controller") : null,
      run.controller.length ? element("ul", {}, ...run.controller.map((s) => element("li", {}, s))) : null,
      ...run.warnings.map((w) => element("p", {class: "note"}, w)));
  }
  const load = () => {
    waiting = false;
    return get(`api/runs/${id}?points=1200` + (range ? `&from=${range[0]}&to=${range[1]}` : ""))
      .then((all) => { if (view === load) { run = all; document.title = nameOf(run) + " · RLDP"; drawAll(); } })
      .catch((e) => { if (view === load && !run) top.replaceChildren(element("p", {class: "note bad"}, e.message)); });
  };
  view = load;
  load();
  listen(`api/runs/${id}/stream`, (row) => {
    if (!run) return;
    Object.assign(run, row);
    drawTop();
    if (!waiting) { waiting = true; setTimeout(() => view === load && load(), 2000); }  // figures need not follow each tick
  });
}

/// Rows that the tuned model made up, once it is there.
function rowsOf(id) {
  const top = element("div"), body = element("div", {class: "table", tabIndex: 0, role: "region", "aria-label": "Made-up rows"});  // it may scroll
  main.replaceChildren(top, body);
  top.append(element("p", {class: "soft"}, "loading …"));
  let run = null;
  const draw = () => {
    const table = run.table, [made, asked] = run.made_up_rows || [0, 0];
    fill(top, element("h1", {}, nameOf(run), " ", state(run)), tabs(id, "rows"),
      asked ? element("p", {class: "steps"}, element("progress", {max: asked, value: made, "aria-label": `${made} of ${asked} rows made`}), ` ${made}/${asked} rows; the last ones:`) : null,
      element("p", {class: "soft"}, asked ? "They are nobody's: rldp synthesize makes them from the run's public side alone, and they cost no ε."
        : table ? `${table.rows.length} rows of nobody, made up by the tuned model when the run ended. They follow from its public side and cost no ε; rldp synthesize makes more.`
          : run.over ? "This run made up no rows: its template declares no columns, or it ended before its model was there."
            : "No rows yet: a run whose template declares columns makes some up when it ends."));
    fill(body, table ? element("table", {class: "stacked"}, element("thead", {}, element("tr", {}, ...table.columns.map((c) => element("th", {scope: "col"}, c)))),
      element("tbody", {}, ...table.rows.map((row) => element("tr", {}, ...row.map((cell, i) => element("td", {"data-label": table.columns[i]}, cell)))))) : null);
  };
  const load = () => get(`api/runs/${id}?points=8`).then((all) => { if (view === load) { run = all; document.title = nameOf(run) + ": rows · RLDP"; draw(); } })
    .catch((e) => { if (view === load && !run) top.replaceChildren(element("p", {class: "note bad"}, e.message)); });
  view = load;
  load();
  listen(`api/runs/${id}/stream`, (row) => {
    if (!run) return;
    if ((row.over && !run.over) || row.made_up_rows) load(); else { Object.assign(run, row); draw(); }
  });
}

/// The cells of a grid as a table that fills up.
function oneGrid(id) {
  const count = element("p", {class: "soft"}, "loading …"), body = element("tbody"), title = element("h1", {}, "Grid");
  const titles = [["cell"], ["state"], ["steps"], ["ε guaranteed", true], ["perplexity", true], ["loss", true]];
  main.replaceChildren(title, count, element("div", {class: "table"}, element("table", {class: "stacked"}, element("thead", {},
    element("tr", {}, ...titles.map(([t, n]) => element("th", {class: n ? "n" : "", scope: "col"}, t)))), body)));
  let waiting = false;
  const load = () => get("api/grids/" + id).then((grid) => {
    if (view !== load) return;
    const of = {};
    for (const cell of grid.cells) of[cell.state] = (of[cell.state] || 0) + 1;
    title.textContent = document.title = grid.name;
    count.textContent = `${grid.kind || "grid"}, ${grid.cells.length} cells: ` + Object.entries(of).map(([s, n]) => `${n} ${s}`).join(", ") + (grid.problem ? "; " + grid.problem : "");
    fill(body, ...grid.cells.map((cell) => {
      const run = cell.run;
      const why = cell.state === "failed" ? element("span", {class: "soft small"}, " its owner's page, trusted/owner.html, says why") : null;
      return element("tr", {}, element("td", {}, run ? element("a", {href: "#/run/" + run.id}, cell.name) : cell.name), element("td", {}, state(cell), why),
        element("td", {}, run ? progress(run) : ""), ...[["ε guaranteed", epsilon], ["perplexity", (r) => number(r.perplexity)], ["loss", (r) => number(r.loss)]].map(([label, of]) =>
          element("td", {class: "n", ...(run ? {"data-label": label} : {})}, run ? of(run) : "")));
    }));
  }).catch((e) => { if (view === load) fill(body, element("tr", {}, element("td", {}, e.message))); });
  view = load;
  load();
  const again = () => { waiting = false; if (view === load) load(); };
  const tick = setInterval(() => view === load ? load() : clearInterval(tick), 10000);  // a cell may fail without a run's word
  listen("api/stream", () => { if (!waiting) { waiting = true; setTimeout(again, 2000); } });
}

function compare(ids, shownRange) {
  document.title = "Compare · RLDP";
  const figures = element("div", {class: "figures"}), table = element("div", {class: "table"});
  main.replaceChildren(element("h1", {}, "Compare"), table);
  if (!ids.length) {
    table.append(element("p", {class: "soft"}, "Choose runs in the list; they are drawn over each other here."));
    close();
    return;
  }
  table.append(element("p", {class: "soft"}, "loading …"));
  main.append(element("h2", {}, "Over the runs"), figures);
  let range = rangeIn(shownRange);
  const setRange = (to) => { range = to; remember("compare", ids.join(","), range ? rangeText(range) : ""); load(); };
  const drawn = quantities.map((q) => [q.name, charts.lines(figures, {title: q.title, onRange: setRange, ...curveOf(q)})]);
  const load = () => Promise.all(ids.map((id) => get(`api/runs/${id}?points=600` + (range ? `&from=${range[0]}&to=${range[1]}` : ""))))
    .then((all) => {
      if (view !== load) return;
      for (const [key, figure] of drawn) figure.update(all.map((r) => ({name: nameOf(r), points: r.curves[key] || []})), range);
      const first = all[0], rows = [["state", (r) => r.state], ["method", (r) => r.method], ["steps", (r) => `${r.step}/${r.steps}`], ["ε guaranteed", epsilon],
        ["perplexity", (r) => number(r.perplexity) + (r === first || !first.perplexity ? "" : ` (${r.perplexity >= first.perplexity ? "+" : "−"}${number(Math.abs(r.perplexity - first.perplexity))})`)],
        ["value nats", (r) => number(r.value_nats)], ["loss", (r) => number(r.loss)]];
      table.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, element("th", {}, ""), ...all.map((r) => element("th", {scope: "col"}, element("a", {href: "#/run/" + r.id}, nameOf(r)))))),
        element("tbody", {}, ...rows.map(([title, of]) => element("tr", {}, element("th", {scope: "row"}, title), ...all.map((r) => element("td", {}, of(r))))))));
    }).catch((e) => { table.replaceChildren(element("p", {class: "note bad"}, e.message)); });
  view = load;
  load();
  let waiting = false;
  listen("api/stream", (row) => {
    if (ids.includes(row.id) && !waiting) { waiting = true; setTimeout(() => { waiting = false; if (view === load) load(); }, 2000); }
  });
}

function show() {
  const [, where, what, range, against] = location.hash.split("/");
  document.title = "RLDP";
  if (where === "run" && what) oneRun(what, range, against);
  else if (where === "rows" && what) rowsOf(what);
  else if (where === "grid" && what) oneGrid(what);
  else if (where === "compare") compare((what || "").split(",").filter(Boolean), range);
  else overview();
  window.scrollTo(0, 0);
}

window.addEventListener("hashchange", show);
get("api/session").then((s) => { oneRun.mayStop = s.may_stop; quantities = s.quantities; show(); })
  .catch((e) => { if (!main.querySelector("form")) main.replaceChildren(element("p", {class: "note bad"}, e.message)); });
