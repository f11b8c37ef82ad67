"use strict";
// The page of a run: the table of jobs, one job, and the plots. The state of the table is in the address, so that a
// link shows what its sender saw.
(async () => {
  const { make, append, visible } = kq;
  const facts = await kq.data("facts");
  const table = await kq.data("jobs-data");
  const text = table.text;
  const numbers = table.numbers;
  const value = (name, row) => text[name].values[text[name].of[row]];

  // ---- the state in the address -----------------------------------------------------------------------------------
  const CHOICES = ["verdict", "device", "backend", "author", "submitter"];
  const NAMES = ["q", ...CHOICES, "sort", "job", "samples"];
  let state = {};
  const readAddress = () => (state = kq.stateInAddress(NAMES));
  const address = (changes) => kq.addressOf({ ...state, ...changes });
  function change(changes, isStep = false) {
    history[isStep ? "pushState" : "replaceState"](null, "", address(changes) === "#" ? location.pathname : address(changes));
    readAddress();
    show();
  }

  // ---- rows: filter and sort --------------------------------------------------------------------------------------
  const SEARCHED = ["label", "problem", "author", "submitter", "tags", "reason", "message"];
  let rows = [];

  function matching() {
    const wanted = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    // One answer for each distinct value of a column is enough.
    const hits = wanted.map((word) => SEARCHED.map((name) => text[name].values.map((one) => one.toLowerCase().includes(word))));
    const chosen = CHOICES.filter((name) => state[name]).map((name) => [text[name].of, new Set(state[name].split(",").map((one) => text[name].values.indexOf(one)))]);
    const found = [];
    for (let row = 0; row < table.size; ++row) {
      if (!chosen.every(([of, indices]) => indices.has(of[row]))) continue;
      if (hits.every((word) => SEARCHED.some((name, i) => word[i][text[name].of[row]]))) found.push(row);
    }
    return found;
  }
  const orders = new Map();
  const naturally = new Intl.Collator("en", { numeric: true }); // relu2 comes before relu10
  // Returns a number for each row by which the column sorts; NaN comes last in both directions.
  function order(name) {
    if (orders.has(name)) return orders.get(name);
    let keys;
    if (name in numbers) {
      keys = numbers[name].map((one) => (one === null ? NaN : one));
    } else {
      const sorted = text[name].values.map((_, i) => i);
      sorted.sort((a, b) => naturally.compare(text[name].values[a], text[name].values[b]));
      const place = [];
      sorted.forEach((index, i) => (place[index] = i));
      keys = text[name].of.map((index) => (text[name].values[index] === "" ? NaN : place[index]));
    }
    orders.set(name, keys);
    return keys;
  }
  function sorted(found) {
    const name = state.sort.replace(/^-/, "");
    if (!(name in numbers) && !(name in text)) return found;
    const keys = order(name);
    const sign = state.sort.startsWith("-") ? -1 : 1;
    return found.sort((a, b) => {
      const isLastA = Number.isNaN(keys[a]);
      const isLastB = Number.isNaN(keys[b]);
      if (isLastA || isLastB) return isLastA === isLastB ? a - b : isLastA ? 1 : -1;
      return sign * (keys[a] - keys[b]) || a - b;
    });
  }

  // ---- the table --------------------------------------------------------------------------------------------------
  const TONES = { passed: "good", suspect: "policy", rejected: "policy", queued: "waiting", leased: "waiting", compiled_only: "waiting" };
  const FAULTS = new Set(["problem_invalid", "too_large", "unsupported_here", "expired", "abandoned"]);
  const tone = (verdict) => TONES[verdict] ?? (FAULTS.has(verdict) ? "fault" : "bad");
  const chip = (row) => {
    const reason = value("reason", row);
    return make("span", { class: "chip " + tone(value("verdict", row)) }, value("verdict", row) + (reason ? " (" + reason + ")" : ""));
  };
  function link(row) {
    const job = String(numbers.job[row]);
    const page = facts.pages[numbers.page[row]];
    const isHere = facts.is_part || facts.pages.length === 1;
    return isHere ? address({ job }) : encodeURIComponent(page) + "#job=" + job;
  }
  const COLUMNS_MAX = 10; // more leave no room for labels; the message is in the details as well
  const COLUMNS = [
    { name: "label", title: "kernel", cell: (row) => make("a", { href: link(row), tabindex: -1 }, value("label", row)) },
    { name: "problem", title: "problem", cell: (row) => value("problem", row) },
    { name: "verdict", title: "verdict", cell: chip },
    { name: "speedup", title: "speedup", number: true, cell: (row) => {
      const one = numbers.speedup[row];
      return make("b", { class: one > 1 ? "up" : "down" }, kq.speedup(one));
    } },
    { name: "median_us", title: "median", number: true, cell: (row) => kq.time(numbers.median_us[row]) },
    { name: "median_noise_pct", title: "noise", number: true, cell: (row) => {
      const one = numbers.median_noise_pct[row];
      return one === null ? "" : make("span", { class: one > 10 ? "noisy" : "" }, "±" + (one < 9.95 ? one.toFixed(1) : one.toFixed(0)) + " %");
    } },
    { name: "reference_us", title: "reference", number: true, cell: (row) => kq.time(numbers.reference_us[row]) },
    { name: "backend", title: "backend", cell: (row) => value("backend", row) },
    { name: "author", title: "author", cell: (row) => value("author", row) },
    { name: "submitter", title: "submitter", cell: (row) => value("submitter", row) },
    { name: "device", title: "device", cell: (row) => value("device", row) },
    { name: "message", title: "message", cell: (row) => value("message", row) },
  ].filter((column) => column.number || ["label", "verdict"].includes(column.name) || isTelling(column.name)).filter((column, i) => column.name !== "message" || i < COLUMNS_MAX);
  // One device for all jobs is in the heading of the page; a column of it would only take room.
  function isTelling(name) {
    const values = text[name].values.filter((one) => one !== "");
    return values.length > (["device", "author", "submitter"].includes(name) ? 1 : 0);
  }
  const ROW_PX = 34;
  const PRINTED_ROWS_MAX = 500;
  const grid = makeTable();

  function makeTable() {
    const place = document.getElementById("job-table");
    const search = make("input", { type: "search", id: "search", placeholder: "label, problem, author, tag, message", "aria-label": "Search jobs" });
    search.addEventListener("input", () => change({ q: search.value }));
    const selects = CHOICES.filter((name) => text[name].values.filter((one) => one !== "").length > 1).map((name) => {
      const select = make("select", { id: "filter-" + name, "aria-label": "Filter by " + name });
      select.append(make("option", { value: "" }, "any " + name));
      for (const one of [...text[name].values].filter((one) => one !== "").sort()) select.append(make("option", { value: one }, one));
      select.addEventListener("change", () => change({ [name]: select.value }));
      return [name, select];
    });
    const count = make("output", { id: "count", "aria-live": "polite" });
    const clear = make("button", { type: "button", id: "clear" }, "Clear");
    clear.addEventListener("click", () => change(Object.fromEntries(["q", ...CHOICES, "sort"].map((name) => [name, ""]))));
    const save = make("button", { type: "button", id: "save-csv", title: "The rows below, as they are filtered and sorted" }, "CSV");
    save.addEventListener("click", saveCsv);
    const heads = COLUMNS.map((column) => {
      const button = make("button", { type: "button" }, column.title);
      button.addEventListener("click", () => {
        const down = column.number && column.name === "speedup" ? ["-" + column.name, column.name] : [column.name, "-" + column.name];
        const next = state.sort === down[0] ? down[1] : state.sort === down[1] ? "" : down[0];
        change({ sort: next });
      });
      return make("div", { role: "columnheader", class: "c-" + column.name + (column.number ? " n" : ""), "data-column": column.name }, button);
    });
    const spacer = make("div", { class: "spacer", role: "presentation" });
    const body = make("div", { class: "grid-body", role: "rowgroup", tabindex: 0, "aria-label": "Jobs; arrow keys move, Enter opens" }, spacer);
    const whole = make("div", { class: "grid", role: "grid", "aria-colcount": COLUMNS.length, "aria-label": "Jobs" }, make("div", { role: "rowgroup", class: "grid-head" }, make("div", { role: "row", class: "line" }, heads)), body);
    place.append(make("div", { class: "controls" }, search, ...selects.map(([, select]) => select), clear, save, count), whole);
    return { search, selects, count, heads, spacer, body, whole, lines: new Map(), at: -1 };
  }

  function makeLine(row, index) {
    const line = make("div", { role: "row", class: "line" + (index === grid.at ? " at" : ""), id: "row-" + index, "aria-rowindex": index + 2, "data-job": numbers.job[row] },
      COLUMNS.map((column) => make("div", { role: "gridcell", class: "c-" + column.name + (column.number ? " n" : ""), title: column.name in text ? visible(value(column.name, row)) : null }, column.cell(row))));
    line.style.top = index * ROW_PX + "px";
    return line;
  }

  // Keeps in the page only the lines near the window of the table.
  function drawLines() {
    const first = Math.max(0, Math.floor(grid.body.scrollTop / ROW_PX) - 10);
    const last = Math.min(rows.length, Math.ceil((grid.body.scrollTop + grid.body.clientHeight) / ROW_PX) + 10);
    for (const [index, line] of grid.lines) {
      if (index >= first && index < last) continue;
      line.remove();
      grid.lines.delete(index);
    }
    for (let index = first; index < last; ++index) {
      if (grid.lines.has(index)) continue;
      const line = makeLine(rows[index], index);
      grid.lines.set(index, line);
      grid.spacer.append(line);
    }
  }
  function forgetLines() {
    for (const line of grid.lines.values()) line.remove();
    grid.lines.clear();
  }
  function showTable() {
    rows = sorted(matching());
    grid.at = -1;
    grid.body.removeAttribute("aria-activedescendant");
    if (document.activeElement !== grid.search) grid.search.value = state.q;
    for (const [name, select] of grid.selects) select.value = state[name];
    for (const head of grid.heads) {
      const name = head.dataset.column;
      head.setAttribute("aria-sort", state.sort === name ? "ascending" : state.sort === "-" + name ? "descending" : "none");
    }
    grid.count.textContent = rows.length === table.size ? table.size + (table.size === 1 ? " job" : " jobs") : rows.length + " of " + table.size + " jobs";
    grid.whole.setAttribute("aria-rowcount", rows.length + 1);
    grid.spacer.style.height = Math.max(1, rows.length) * ROW_PX + "px";
    forgetLines();
    grid.body.scrollTop = 0;
    drawLines();
  }
  function moveTo(index) {
    if (rows.length === 0) return;
    grid.lines.get(grid.at)?.classList.remove("at");
    grid.at = Math.max(0, Math.min(rows.length - 1, index));
    const top = grid.at * ROW_PX;
    if (top < grid.body.scrollTop) grid.body.scrollTop = top;
    if (top + ROW_PX > grid.body.scrollTop + grid.body.clientHeight) grid.body.scrollTop = top + ROW_PX - grid.body.clientHeight;
    drawLines();
    grid.lines.get(grid.at).classList.add("at");
    grid.body.setAttribute("aria-activedescendant", "row-" + grid.at);
  }
  let isDrawing = false;
  grid.body.addEventListener("scroll", () => {
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      drawLines();
    });
  });
  grid.body.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(grid.body.clientHeight / ROW_PX) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -table.size, End: table.size };
    if (event.key in steps) moveTo(grid.at + steps[event.key]);
    else if (event.key === "Enter" && grid.at >= 0) grid.lines.get(grid.at)?.querySelector("a").click();
    else return;
    event.preventDefault();
  });
  grid.body.addEventListener("click", (event) => {
    const line = event.target.closest("[data-job]");
    if (line !== null && event.target.closest("a") === null && String(getSelection()) === "") line.querySelector("a").click();
  });
  addEventListener("resize", drawLines);
  addEventListener("beforeprint", () => {
    grid.whole.classList.add("printed");
    for (let index = 0; index < Math.min(rows.length, PRINTED_ROWS_MAX); ++index) {
      if (!grid.lines.has(index)) grid.lines.set(index, grid.spacer.appendChild(makeLine(rows[index], index)));
    }
  });
  addEventListener("afterprint", () => {
    grid.whole.classList.remove("printed");
    forgetLines();
    drawLines();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || /INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    grid.search.focus();
  });

  // A spreadsheet takes a cell that begins like this for a formula, unless it is a number.
  const isFormula = (text) => /^[=+\-@\t\r]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text);
  function csvCell(one) {
    if (one === null || one === undefined) return "";
    const cell = typeof one === "string" && isFormula(one) ? "'" + one : String(one);
    return /[",\n\r]/.test(cell) ? '"' + cell.replaceAll('"', '""') + '"' : cell;
  }
  function saveCsv() {
    const names = ["job", "label", "problem", "verdict", "reason", "speedup", "median_us", "median_noise_pct", "reference_us", "device", "backend", "author", "submitter", "baseline", "tags", "message"];
    const lines = [names.join(",")];
    for (const row of rows) lines.push(names.map((name) => csvCell(name in numbers ? numbers[name][row] : value(name, row))).join(","));
    kqJob.save(facts.run + ".csv", lines.join("\n") + "\n", "text/csv");
  }

  // ---- what follows the address -----------------------------------------------------------------------------------
  let shown = null;
  function show() {
    const key = JSON.stringify([state.q, ...CHOICES.map((name) => state[name]), state.sort]);
    if (key !== shown) showTable();
    shown = key;
    const row = state.job === "" ? -1 : numbers.job.indexOf(Number(state.job));
    const isHere = facts.is_part || facts.pages.length === 1;
    if (row >= 0 && !isHere) location.replace(link(row));
    else if (row >= 0) kqJob.show(facts, table, row, () => change({ job: "" }));
    else kqJob.hide();
  }
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest("a[href^='#']");
    if (anchor === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const given = new URLSearchParams(anchor.getAttribute("href").slice(1));
    if (![...given.keys()].some((name) => NAMES.includes(name))) return;
    event.preventDefault();
    change(Object.fromEntries(given), true);
    if (given.has("verdict")) document.getElementById("jobs").scrollIntoView();
  });
  addEventListener("popstate", () => {
    readAddress();
    show();
  });

  // ---- plots ------------------------------------------------------------------------------------------------------
  async function drawPlots() {
    const plots = await kq.data("plot-values");
    const open = (point) => point.job && change({ job: String(point.job) }, true);
    for (const element of document.querySelectorAll("[data-plot]")) {
      const kind = element.dataset.plot;
      if (kind !== "samples") kq.whenSeen(element, () => kq.plot(element, kind, () => plots[kind], open));
    }
    const select = document.getElementById("strip-problem");
    if (select === null) return;
    const element = document.querySelector("[data-plot=samples]");
    kq.whenSeen(element, async () => {
      const strips = new Map((await kq.data("strips")).problems.map((one) => [one.name, one.strips]));
      const names = [...strips.keys()];
      // The names of options are made visible, so a place in the list stands for the name.
      if (names.includes(state.samples)) select.selectedIndex = names.indexOf(state.samples);
      const values = () => (strips.get(names[select.selectedIndex]) ?? []).flatMap((strip) =>
        ["submission", "reference"].flatMap((side) => strip[side].map((ns) => ({ label: strip.label, side, us: ns / 1e3 }))));
      const draw = kq.plot(element, "samples", values);
      select.addEventListener("change", () => {
        change({ samples: names[select.selectedIndex] });
        draw?.();
      });
    });
  }

  readAddress();
  show();
  document.documentElement.dataset.ready = "yes";
  if (!facts.is_part) requestAnimationFrame(drawPlots);
})();
