"use strict";
// The live page of a gateway: it shows the newest overview that the gateway sent. Lists are bounded by the gateway; a
// row of a list is made again only when its item changed. The state of the page is in its address.
(() => {
  const { make, visible } = kq;
  const byId = (id) => document.getElementById(id);
  const order = new Intl.Collator("en", { numeric: true });
  const RENDER_MS = 100; // between two changes of the page, however many events come
  const AGAIN_MS = 2_000; // before a lost connection is tried again
  const EVENT_CHARACTERS_MAX = 4_000_000;
  const REFRESH_MS = 3_000; // of lists that events do not bring
  const NOTE_MS = 6_000;

  // ---- the gateway ------------------------------------------------------------------------------------------------
  let token = sessionStorage.getItem("kq-token") ?? "";
  let viewer = { submitter: "", is_operator: false };
  let stream = null; // aborts the stream of events
  // A gateway with tokens is asked only once the reader has given one.
  const needsToken = document.querySelector("main").dataset.needsToken === "yes";
  let wake = () => {}; // ends the wait for a token

  function request(path, options = {}) {
    const headers = { ...options.headers };
    if (token) headers.Authorization = "Bearer " + token;
    return fetch(path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
  }
  // Returns the JSON of an answer; throws the gateway's sentence where it refuses.
  async function ask(path, options) {
    const answer = await request(path, options);
    const body = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(body.detail ?? "the gateway answered with status " + answer.status);
    return body;
  }

  // ---- small things -----------------------------------------------------------------------------------------------
  let clockAhead = 0; // of the gateway against this browser, in ms
  const count = (n) => n.toLocaleString("en");
  function duration(seconds) {
    const s = Math.max(0, Math.round(seconds));
    if (s < 90) return s + " s";
    if (s < 5_400) return Math.round(s / 60) + " min";
    return s < 172_800 ? (s / 3_600).toFixed(1) + " h" : Math.round(s / 86_400) + " days";
  }
  const age = (at) => duration((Date.now() + clockAhead - Date.parse(at)) / 1_000);
  // An element that keeps showing how long ago a time was.
  const since = (at, after = "") => (at ? make("time", { datetime: at, "data-after": after, title: at }, age(at) + after) : "");
  setInterval(() => {
    for (const element of document.querySelectorAll("time[data-after]")) {
      const text = age(element.dateTime) + element.dataset.after;
      if (element.textContent !== text) element.textContent = text;
    }
  }, 1_000);
  const gigabytes = (bytes) => (bytes > 0 ? (bytes / 2 ** 30).toFixed(0) + " GiB" : "");

  const GOOD = new Set(["passed", "busy", "served"]);
  const POLICY = new Set(["suspect", "rejected", "draining", "paused", "silent"]);
  const FAULTS = new Set(["problem_invalid", "too_large", "unsupported_here", "expired", "abandoned", "quarantined", "no worker"]);
  const WAITING = new Set(["idle", "queued", "leased", "compiled_only", "cancelled"]);
  const tone = (word) => (GOOD.has(word) ? "good" : POLICY.has(word) ? "policy" : FAULTS.has(word) ? "fault" : WAITING.has(word) ? "waiting" : "bad");
  const chip = (word, reason = "") => make("span", { class: "chip " + tone(word) }, word + (reason ? " (" + reason + ")" : ""));

  // A short message in the line under the title.
  let note = null;
  function say(text, isMistake = false) {
    note = { text, isMistake, until: Date.now() + NOTE_MS };
    showConnection();
  }

  // ---- asking before something is done ----------------------------------------------------------------------------
  function confirm(title, text, verb) {
    const dialog = byId("ask");
    return new Promise((resolve) => {
      const yes = make("button", { type: "button", id: "ask-yes", class: "strong" }, verb);
      const no = make("button", { type: "button", id: "ask-no", autofocus: true }, "Leave it");
      yes.addEventListener("click", () => dialog.close("yes"));
      no.addEventListener("click", () => dialog.close("no"));
      dialog.replaceChildren(make("h2", { id: "ask-title" }, title), make("p", {}, text), make("div", { class: "controls" }, no, yes));
      dialog.returnValue = "no";
      dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
      dialog.showModal();
    });
  }
  // Returns a button that sends a request after it asked, and again while the answer says that there is more to do.
  function action(name, title, text, path, method, body, done) {
    const button = make("button", { type: "button", class: "small" }, name);
    button.addEventListener("click", async (event) => {
      event.stopPropagation();
      if (!(await confirm(title, text, name))) return;
      try {
        const options = body === null ? { method } : { method, body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
        let answer;
        do answer = await ask(path, options);
        while (answer.has_more && answer.cancelled > 0);
        say(answer.detail ?? done);
      } catch (error) {
        say(error.message, true);
      }
    });
    return button;
  }

  // ---- tables -----------------------------------------------------------------------------------------------------
  // Returns a function that shows items. A row whose item is unchanged stays as it is, so that a reader's selection and
  // focus stay too.
  function table(place, label, key, columns, empty) {
    const body = make("tbody");
    const rows = new Map();
    const heads = columns.map((column) => make("th", { scope: "col", class: column.class }, column.title));
    const whole = make("table", { class: "plain", "aria-label": label }, make("thead", {}, make("tr", {}, heads)), body);
    const nothing = make("p", { class: "quiet empty" }, empty);
    place.replaceChildren(nothing, whole);
    return (items) => {
      whole.hidden = items.length === 0;
      nothing.hidden = items.length > 0;
      const kept = new Set();
      let at = body.firstElementChild;
      for (const item of items) {
        const name = key(item);
        const text = JSON.stringify(item) + viewer.is_operator;
        kept.add(name);
        let row = rows.get(name);
        if (row === undefined) {
          row = { element: make("tr"), text: null };
          rows.set(name, row);
        }
        if (row.text !== text) {
          row.text = text;
          row.element.replaceChildren(...columns.map((column) => make("td", { class: column.class }, column.cell(item))));
        }
        if (row.element === at) at = at.nextElementSibling;
        else body.insertBefore(row.element, at);
      }
      for (const [name, row] of rows) {
        if (kept.has(name)) continue;
        row.element.remove();
        rows.delete(name);
      }
    };
  }

  // ---- the address ------------------------------------------------------------------------------------------------
  const NAMES = ["run", "outcome", "label", "after", "job", "q"];
  let state = {};
  const readAddress = () => (state = kq.stateInAddress(NAMES));
  const address = (changes) => kq.addressOf({ ...state, ...changes });
  function change(changes, isStep = true) {
    history[isStep ? "pushState" : "replaceState"](null, "", address(changes));
    readAddress();
    follow();
  }
  const jobLink = (job, text = job.label) => make("a", { href: address({ job: job.id }) }, text);
  const runLink = (run) => make("a", { href: address({ run, outcome: "", label: "", after: "" }) }, run);
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest("a[href^='#']");
    if (anchor === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const given = new URLSearchParams(anchor.getAttribute("href").slice(1));
    change(Object.fromEntries(NAMES.map((name) => [name, given.get(name) ?? ""])));
  });
  addEventListener("popstate", () => {
    readAddress();
    follow();
  });

  // ---- the overview -----------------------------------------------------------------------------------------------
  function progress(run) {
    const parts = [["good", run.passed], ["bad", run.failed], ["fault", run.finished - run.passed - run.failed], ["waiting", run.running]];
    const bar = make("div", { class: "bar progress", role: "img", "aria-label": run.finished + " of " + run.jobs + " jobs are finished" });
    for (const [kind, n] of parts) {
      if (n <= 0) continue;
      const part = make("i", { class: kind });
      part.style.width = (100 * n) / Math.max(1, run.jobs) + "%";
      bar.append(part);
    }
    return bar;
  }
  const showRuns = table(byId("run-rows"), "Runs", (run) => run.run, [
    { title: "run", class: "name", cell: (run) => runLink(run.run) },
    { title: "progress", class: "wide-cell", cell: (run) => [progress(run), make("span", { class: "quiet" }, (run.is_counted ? "" : "counting, so far ") + count(run.finished) + " of " + count(run.jobs) + (run.is_part ? " and more" : "") + (run.running ? ", " + count(run.running) + " running" : ""))] },
    { title: "passed", class: "n more", cell: (run) => count(run.passed) },
    { title: "failed", class: "n", cell: (run) => (run.failed ? make("a", { href: address({ run: run.run, outcome: "failed", label: "", after: "" }) }, count(run.failed)) : "0") },
    { title: "jobs/s", class: "n more", cell: (run) => (run.rate_per_s === null ? "" : kq.digits(run.rate_per_s)) },
    { title: "left", class: "n", cell: (run) => (run.left_s === null ? (run.queued + run.running > 0 ? "unknown" : "") : duration(run.left_s)) },
    { title: "submitter", class: "more", cell: (run) => run.submitter },
    { title: "submitted", class: "when more", cell: (run) => since(run.submitted_at, " ago") },
  ], "There is no run.");

  const deviceText = (device) => [device.model || device.kind, gigabytes(device.memory_bytes), device.sm_clock_mhz ? device.sm_clock_mhz + " MHz, memory " + device.memory_clock_mhz + " MHz, " + device.temperature_c + " °C at the last job" : "", device.throttle && device.throttle !== "none" ? "clocks reduced by " + device.throttle : ""].filter(Boolean).join(", ");
  // Equal devices are one line: "8 x NVIDIA H200, 141 GiB".
  function devices(worker) {
    const lines = new Map();
    for (const device of worker.devices) lines.set(deviceText(device), (lines.get(deviceText(device)) ?? 0) + 1);
    const parts = [...lines].map(([text, n]) => make("div", {}, (n > 1 ? n + " x " : "") + text));
    if (worker.builds_for.length > 0) parts.push(make("div", {}, "builds for " + worker.builds_for.join(", ")));
    return parts.concat(worker.quarantined.map((sentence) => make("div", { class: "worse" }, "quarantined: " + sentence)));
  }
  function runningJobs(worker) {
    const lines = worker.jobs.map((job) => make("div", {}, jobLink(job), make("span", { class: "quiet" }, " of " + job.run + (job.build_started_at ? ", builds for " : ", for ")), since(job.build_started_at ?? job.leased_at)));
    const hidden = worker.running - worker.jobs.length - worker.building;
    if (worker.building > 0) lines.push(make("div", { class: "quiet" }, count(worker.building) + (worker.building === 1 ? " build" : " builds"), worker.build_started_at ? [", the longest for ", since(worker.build_started_at)] : null));
    if (hidden > 0 && worker.jobs.length > 0) lines.push(make("div", { class: "quiet" }, "and " + count(hidden) + " more"));
    if (worker.last_seen_at) lines.push(make("div", { class: "worse" }, "silent for ", since(worker.last_seen_at)));
    return lines;
  }
  const drain = (worker) => action(worker.draining ? "Undrain" : "Drain", (worker.draining ? "Undrain " : "Drain ") + worker.worker + "?",
    worker.draining ? "The worker gets jobs again." : "The worker gets no new jobs. Its running jobs continue. This outlives restarts of the broker and of the worker.",
    "/api/v1/workers/" + encodeURIComponent(worker.worker) + "/drain", "POST", { draining: !worker.draining }, worker.draining ? "The worker gets jobs again." : "The worker gets no new jobs.");
  const showWorkers = table(byId("worker-rows"), "Workers", (worker) => worker.worker, [
    { title: "worker", class: "name", cell: (worker) => [make("div", {}, worker.worker), worker.labels.length > 0 ? make("div", { class: "quiet" }, worker.labels.join(", ")) : null, make("div", { class: "sub" }, devices(worker))] },
    { title: "state", cell: (worker) => chip(worker.state) },
    { title: "devices", class: "roomy", cell: devices },
    { title: "runs", class: "wide-cell", cell: runningJobs },
    { title: "", cell: (worker) => (viewer.is_operator ? drain(worker) : "") },
  ], "No worker is connected.");

  const showFailures = table(byId("failure-rows"), "Last failures", (job) => job.id, [
    { title: "kernel", class: "name", cell: (job) => [jobLink(job), make("div", { class: "quiet" }, "in ", runLink(job.run)), make("div", { class: "sub" }, chip(job.verdict, job.reason))] },
    { title: "verdict", class: "roomy", cell: (job) => chip(job.verdict, job.reason) },
    { title: "message", class: "wide-cell", cell: (job) => make("div", { class: "clamped", title: visible(job.message) }, job.message.split("\n")[0]) },
    { title: "device", class: "more", cell: (job) => job.device },
    { title: "finished", class: "when roomy", cell: (job) => since(job.finished_at, " ago") },
  ], "No job of these runs has failed.");

  const pauseOf = (submitter, paused) => action(paused ? "Pause" : "Resume", (paused ? "Pause " : "Resume ") + (submitter ? "submitter " + submitter : "the whole queue") + "?",
    paused ? "No more jobs are leased. Running jobs continue. The pause outlives a restart of the broker." : "Jobs are leased again.", "/api/v1/pause", "POST", { submitter, paused }, paused ? "Paused: running jobs continue." : "Resumed: jobs are leased again.");
  const showLanes = table(byId("lane-rows"), "Lanes", (lane) => [lane.priority, lane.submitter, lane.needs, lane.backend, lane.oldest_at].join("\n"), [
    { title: "priority", class: "roomy", cell: (lane) => lane.priority },
    { title: "submitter", cell: (lane) => lane.submitter || "-" },
    { title: "needs", cell: (lane) => lane.needs + ", " + lane.backend },
    { title: "queued", class: "n", cell: (lane) => count(lane.queued) },
    { title: "oldest", class: "when roomy", cell: (lane) => since(lane.oldest_at, " ago") },
    { title: "state", cell: (lane) => chip(lane.state) },
    { title: "", cell: (lane) => (viewer.is_operator && lane.submitter ? pauseOf(lane.submitter, lane.state !== "paused") : "") },
  ], "No job is queued.");

  function showTiles(overview) {
    const states = overview.workers.states;
    const attention = ["quarantined", "silent", "draining"].filter((name) => states[name]).map((name) => states[name] + " " + name);
    const rate = overview.runs.reduce((sum, run) => sum + (run.rate_per_s ?? 0), 0);
    const models = overview.workers.models.map((one) => one.devices + " x " + one.model).slice(0, 4).join(", ");
    const tiles = [
      ["queued", count(overview.queue.queued), overview.queue.waiting > 0 ? count(overview.queue.waiting) + " of them wait for a later time" : ""],
      ["running", count(overview.queue.running), rate > 0 ? kq.digits(rate) + " jobs/s" : ""],
      ["workers", count(overview.workers.count), [states.busy ? states.busy + " busy" : "", ...attention].filter(Boolean).join(", ")],
      ["devices", count(overview.workers.models.reduce((sum, one) => sum + one.devices, 0)), models],
      ["runs", count(overview.run_count) + (overview.has_more_runs ? "+" : ""), overview.runs.length < overview.run_count ? "the newest " + overview.runs.length + " are listed" : ""],
    ];
    const text = JSON.stringify(tiles);
    const place = byId("tiles");
    if (place.dataset.shown === text) return;
    place.dataset.shown = text;
    place.replaceChildren(...tiles.map(([name, value, more]) => make("div", { class: "tile" }, make("dt", {}, name), make("dd", {}, make("strong", {}, value), more ? make("span", {}, more) : null))));
  }

  let overview = null;
  let workerFilter = "";
  let workerPage = null; // rows of a filter or of further pages, in place of the overview's
  let isOperator = null;
  let isChecked = false; // whether the reader was told that the token is unknown
  function show() {
    clockAhead = Date.parse(overview.now) - Date.now();
    viewer = overview.viewer;
    if (isOperator !== viewer.is_operator) showControls();
    isOperator = viewer.is_operator;
    if (token && !isChecked && !viewer.is_operator && !viewer.submitter) say("This gateway does not know the token.", true);
    isChecked = true;
    showTiles(overview);
    showRuns(overview.runs);
    if (workerPage === null) showWorkers(overview.workers.shown);
    moreWorkers.hidden = overview.workers.shown.length >= overview.workers.count || workerFilter !== "";
    moreWorkers.textContent = workerPage !== null && workerPage.next === null ? "First workers" : "Further workers";
    byId("lanes").querySelector("h2").textContent = "Queued jobs by lane" + (overview.queue.has_more_lanes ? ", the first " + overview.queue.lanes.length : "");
    showFailures(overview.failures);
    showLanes(overview.queue.lanes);
    showConnection();
    document.documentElement.dataset.ready = "yes";
  }

  // ---- events -----------------------------------------------------------------------------------------------------
  let newest = null; // the text of the newest overview that is not shown yet
  let isDrawing = false;
  let isLive = false;
  let trouble = "";
  function draw() {
    isDrawing = false;
    if (newest === null) return;
    overview = JSON.parse(newest);
    newest = null;
    document.documentElement.dataset.drawn = Number(document.documentElement.dataset.drawn ?? 0) + 1;
    show();
  }
  function take(event) {
    const lines = event.split("\n");
    const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
    if (lines.includes("event: overview")) {
      newest = data;
      trouble = "";
      if (!isDrawing) {
        isDrawing = true;
        setTimeout(() => requestAnimationFrame(draw), RENDER_MS);
      }
    } else if (lines.includes("event: error")) {
      trouble = JSON.parse(data);
      showConnection();
    }
  }
  async function listen() {
    for (;;) {
      while (needsToken && token === "") {
        trouble = "This gateway needs a token.";
        document.documentElement.dataset.ready = "yes";
        showConnection();
        await new Promise((resolve) => (wake = resolve));
      }
      stream = new AbortController();
      try {
        const answer = await request("/api/v1/overview/events", { signal: stream.signal });
        if (!answer.ok) throw new Error((await answer.json()).detail);
        isLive = true;
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          text += value;
          for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
            take(text.slice(0, end));
            text = text.slice(end + 2);
          }
          if (text.length > EVENT_CHARACTERS_MAX) throw new Error("the gateway sent an event without an end");
        }
        trouble = "The gateway has ended the stream.";
      } catch (error) {
        if (error.name !== "AbortError") trouble = error instanceof TypeError ? "The gateway does not answer." : error.message;
      }
      isLive = false;
      document.documentElement.dataset.ready = "yes";
      showConnection();
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
  function showConnection() {
    const place = byId("connection");
    const isNote = note !== null && note.until > Date.now();
    const text = isNote ? note.text : trouble || !isLive ? (trouble || "The gateway does not answer.") + (needsToken && token === "" ? "" : " The page tries again.") : "Live, kq " + overview.version + (viewer.submitter ? ", as " + viewer.submitter : viewer.is_operator ? ", as operator" : ", read only");
    place.classList.toggle("worse", isNote ? note.isMistake : trouble !== "" || !isLive);
    if (place.textContent !== visible(text)) place.replaceChildren(make("span", {}, text));
  }
  setInterval(() => (overview !== null || trouble) && showConnection(), 1_000);

  // ---- controls ---------------------------------------------------------------------------------------------------
  const search = make("input", { type: "search", id: "search", placeholder: "Part of a label, or the number or id of a job", "aria-label": "Search jobs" });
  search.addEventListener("change", () => change({ q: search.value.trim() }));
  function showControls() {
    const sign = make("button", { type: "button", id: "sign" }, token ? "Sign out" : "Token");
    sign.addEventListener("click", token ? () => signIn("") : askToken);
    const parts = [search, sign];
    if (viewer.is_operator) parts.splice(1, 0, pauseOf("", true), pauseOf("", false));
    byId("controls").replaceChildren(...parts);
  }
  function signIn(text) {
    token = text;
    if (token) sessionStorage.setItem("kq-token", token);
    else {
      sessionStorage.removeItem("kq-token");
      location.reload(); // what the token showed leaves the page
    }
    isChecked = false;
    runAsked = "";
    showControls();
    stream?.abort();
    wake();
    follow();
  }
  function askToken() {
    const dialog = byId("ask");
    const field = make("input", { type: "password", id: "token", autocomplete: "off", "aria-label": "Token", autofocus: true });
    const form = make("form", { method: "dialog" }, make("h2", { id: "ask-title" }, "Token"), make("p", {}, "A token shows the runs of its submitter. The token of an operator may also cancel, retry, pause and drain. It stays in this tab."), make("div", { class: "controls" }, field, make("button", { type: "submit", id: "ask-yes" }, "Use it")));
    form.addEventListener("submit", () => field.value.trim() && signIn(field.value.trim()));
    dialog.replaceChildren(form);
    dialog.showModal();
  }
  const filter = make("input", { type: "search", id: "worker-filter", placeholder: "Filter by name or model", "aria-label": "Filter workers" });
  const moreWorkers = make("button", { type: "button", id: "more-workers", hidden: true }, "Further workers");
  async function askWorkers(after) {
    const filtered = workerFilter;
    if (!filtered && !after) {
      workerPage = null;
      if (overview !== null) show();
      return;
    }
    try {
      const page = await ask("/api/v1/workers?" + new URLSearchParams({ q: filtered, after }));
      if (filtered !== workerFilter) return;
      workerPage = { next: page.next };
      showWorkers(page.workers);
      if (overview !== null) show();
    } catch (error) {
      say(error.message, true);
    }
  }
  filter.addEventListener("input", () => {
    workerFilter = filter.value.trim();
    askWorkers("");
  });
  // The overview has the workers that need attention first; pages go by names from the first.
  moreWorkers.addEventListener("click", () => askWorkers(workerPage === null ? " " : workerPage.next ?? ""));
  setInterval(() => workerFilter && !document.hidden && askWorkers(""), REFRESH_MS);
  byId("worker-controls").append(filter, moreWorkers);
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || /INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) return;
    event.preventDefault();
    search.focus();
  });

  // ---- found jobs, and the jobs of a run --------------------------------------------------------------------------
  const COLUMNS = [
    { title: "job", class: "n roomy", cell: (job) => String(job.job) },
    { title: "kernel", class: "wide-cell", cell: (job) => jobLink(job) },
    { title: "run", cell: (job) => runLink(job.run) },
    { title: "outcome", cell: (job) => chip(job.verdict ?? (job.state === "leased" ? "running" : job.state)) },
  ];
  const showFound = table(byId("found-rows"), "Found jobs", (job) => job.id, COLUMNS, "No job of the listed runs has this in its label or as its number.");
  let searched = "";
  const mayAsk = () => !needsToken || token !== "";
  async function find() {
    byId("found").hidden = state.q === "" || !mayAsk();
    if (!mayAsk()) return;
    if (document.activeElement !== search) search.value = state.q;
    if (state.q === searched) return;
    searched = state.q;
    if (state.q === "") return;
    try {
      const found = await ask("/api/v1/search?" + new URLSearchParams({ q: searched }));
      if (searched !== state.q) return;
      showFound(found.jobs);
      byId("found").querySelector("h2").textContent = found.count === found.jobs.length ? "Found: " + count(found.count) : "Found: the first " + found.jobs.length + " of " + count(found.count);
    } catch (error) {
      say(error.message, true);
    }
  }

  const runPlace = byId("run");
  const runTitle = make("h2");
  const runText = make("input", { type: "search", id: "run-label", placeholder: "Part of a label", "aria-label": "Filter the jobs of the run" });
  const runOutcome = make("select", { id: "run-outcome", "aria-label": "Filter by outcome" });
  for (const one of ["", "failed", "queued", "leased", "finished", "passed", "suspect", "wrong_answer", "build_failed", "crashed", "timed_out", "rejected"]) runOutcome.append(make("option", { value: one }, one || "any outcome"));
  const runCount = make("output", { "aria-live": "polite" });
  const runBack = make("button", { type: "button", id: "run-close" }, "Close");
  const runFirst = make("button", { type: "button", id: "run-first" }, "First page");
  const runNext = make("button", { type: "button", id: "run-next" }, "Next page");
  const runActions = make("span");
  const runRows = make("div", { class: "scroll" });
  runPlace.append(runTitle, make("div", { class: "controls" }, runText, runOutcome, runFirst, runNext, runActions, runBack, runCount), runRows);
  const showJobs = table(runRows, "Jobs of the run", (job) => job.id, COLUMNS.filter((column) => column.title !== "run"), "No job of the run is like this.");
  runText.addEventListener("input", () => change({ label: runText.value.trim(), after: "" }, false));
  runOutcome.addEventListener("change", () => change({ outcome: runOutcome.value, after: "" }));
  runBack.addEventListener("click", () => change({ run: "", outcome: "", label: "", after: "" }));
  runFirst.addEventListener("click", () => change({ after: "" }));
  let nextAfter = null;
  runNext.addEventListener("click", () => change({ after: nextAfter }));
  let runAsked = "";
  async function showRun(isAgain = false) {
    runPlace.hidden = state.run === "" || !mayAsk();
    if (runPlace.hidden) {
      runAsked = "";
      return;
    }
    const words = { q: state.label, outcome: state.outcome, after: state.after };
    const asked = JSON.stringify([state.run, words]);
    if (asked === runAsked && !isAgain) return;
    const isNew = !isAgain && (runAsked === "" || JSON.parse(runAsked)[0] !== state.run);
    runAsked = asked;
    runTitle.replaceChildren(make("span", {}, "Run " + state.run));
    if (document.activeElement !== runText) runText.value = state.label;
    runOutcome.value = state.outcome;
    const path = "/api/v1/runs/" + encodeURIComponent(state.run);
    if (!isAgain) runActions.replaceChildren(...(token ? [action("Cancel run", "Cancel run " + state.run + "?", "Its queued and running jobs end without results, unless another submitter asked for the same work.", path + "/cancel", "POST", {}, "The run is cancelled.")] : []));
    if (isNew) runPlace.scrollIntoView();
    try {
      const page = await ask(path + "/jobs?" + new URLSearchParams(words));
      if (asked !== runAsked) return;
      showJobs(page.jobs);
      nextAfter = page.next;
      runNext.disabled = page.next === null;
      runFirst.disabled = state.after === "";
      runCount.textContent = count(page.count) + (page.count === 1 ? " job" : " jobs") + (page.is_whole ? "" : ", while the run is being counted");
    } catch (error) {
      say(error.message, true);
    }
  }
  setInterval(() => !document.hidden && showRun(true), REFRESH_MS);

  // ---- one job ----------------------------------------------------------------------------------------------------
  let jobShown = "";
  async function showJob() {
    if (state.job === jobShown || !mayAsk()) return;
    jobShown = state.job;
    if (state.job === "") return kqJob.hide();
    const id = state.job;
    try {
      const path = "/api/v1/jobs/" + encodeURIComponent(id);
      const group = await ask(path + "/details");
      if (id !== state.job) return;
      const values = group.jobs[0].values;
      const isFinished = values[group.keys.indexOf("verdict")] !== null;
      const label = values[group.keys.indexOf("label")];
      const actions = make("div", { class: "controls actions" });
      if (token && !isFinished) actions.append(action("Cancel", "Cancel " + label + "?", "The job ends without a result, unless another submitter asked for the same work.", path, "DELETE", null, "The job is cancelled."));
      if (viewer.is_operator && isFinished) actions.append(action("Retry", "Retry " + label + "?", "The job is queued again, if its verdict can change: kq's own faults, cancelled and expired jobs.", path + "/retry", "POST", {}, "The job is queued again."));
      kqJob.open(group, 0, id, () => change({ job: "" }), actions);
    } catch (error) {
      say(error.message, true);
    }
  }

  function follow() {
    find();
    showRun();
    showJob();
  }
  readAddress();
  showControls();
  follow();
  listen();
})();
