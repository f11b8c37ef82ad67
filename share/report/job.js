"use strict";
// One job in a dialog: why it ended so, its samples, sources and log, where it ran, and the command that measures it
// again.
const kqJob = (() => {
  const { make, append } = kq;
  const dialog = document.getElementById("job");
  const LINE_PX = 20;
  const SOURCE_LINES_OPEN = 400; // a longer file is shown closed
  let onClose = null;

  if (dialog !== null) {
    dialog.addEventListener("close", () => onClose?.());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }

  function save(name, content, type) {
    const address = URL.createObjectURL(new Blob([content], { type }));
    const anchor = make("a", { href: address, download: name });
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  // ---- sources ----------------------------------------------------------------------------------------------------
  function grammar(name) {
    const prism = window.Prism;
    if (prism === undefined || !prism.languages) return null;
    if (/\.(cu|cuh|cc|cpp|h|hpp|c)$/.test(name)) return prism.languages.cpp ?? null;
    return /\.py$/.test(name) || !name.includes(".") ? prism.languages.python ?? null : null;
  }
  // Returns [text, class] pairs in the order of the text.
  function flat(tokens, kind = "") {
    if (typeof tokens === "string") return [[tokens, kind]];
    if (Array.isArray(tokens)) return tokens.flatMap((token) => flat(token, kind));
    return flat(tokens.content, tokens.type);
  }
  function listing(name, content, markedLine) {
    const rules = content.length < 200_000 ? grammar(name) : null;
    const pieces = rules === null ? [[content, ""]] : flat(window.Prism.tokenize(content, rules));
    const code = make("code");
    let line = null;
    let count = 0;
    const next = () => {
      count += 1;
      line = make("span", { class: "source-line" + (count === markedLine ? " marked" : ""), "data-line": count });
      code.append(line);
    };
    next();
    for (const [piece, kind] of pieces) {
      piece.split("\n").forEach((part, i) => {
        if (i > 0) {
          line.append("\n");
          next();
        }
        if (part !== "") kind ? line.append(append(make("span", { class: "t-" + kind.replace(/[^a-z-]/g, "") }), part)) : append(line, part);
      });
    }
    return [make("pre", { class: "source", tabindex: 0 }, code), count];
  }
  function sources(group, job, details) {
    const place = /^(.*?):(\d+)/.exec(details.place ?? "");
    return job.files.map(([name, hash, role]) => {
      const content = group.files[hash];
      if (content === undefined) {
        return make("p", { class: "quiet" }, (role === "problem" ? "Problem " : "Source ") + name + " (SHA-256 " + hash.slice(0, 16) + "...) is not in this report: its reader may not read it, or it is not kept any more.");
      }
      const [pre, lines] = listing(name, content, place !== null && place[1] === name ? Number(place[2]) : -1);
      const button = make("button", { type: "button" }, "Save");
      button.addEventListener("click", () => save(name, content, "text/plain"));
      return make("details", { open: role === "submission" && lines <= SOURCE_LINES_OPEN, class: "file" }, make("summary", {}, (role === "problem" ? "Problem: " : "") + name, make("span", { class: "quiet" }, " " + lines + " lines")), button, pre);
    });
  }

  // ---- why --------------------------------------------------------------------------------------------------------
  const number = (value) => (typeof value === "number" ? kq.digits(value, 6) : String(value));
  function why(details) {
    const parts = [];
    if (details.message) parts.push(make("pre", { class: "message" }, (details.place && !details.message.includes(details.place) ? details.place + ": " : "") + details.message));
    if (details.rule) parts.push(make("p", {}, "Rule of the guard: ", make("code", {}, details.rule)));
    if (details.hint) parts.push(make("p", { class: "hint" }, details.hint));
    if (details.expected_form) parts.push(make("p", {}, "Expected " + details.expected_form + ", got " + details.got_form + "."));
    if (details.mismatch_n) {
      const cells = [["wrong elements", number(details.mismatch_n) + " of " + number(details.mismatch_total_n)], ["first wrong output", "output " + details.mismatch_output + " of trial " + details.mismatch_trial]];
      if (details.mismatch_place) cells.push(["worst element", details.mismatch_place], ["expected there", number(details.worst_expected)], ["got there", number(details.worst_got)], ["error there", number(details.worst_err)], ["allowed there", number(details.worst_allowed)]);
      if (details.looks_like) cells.push(["the output looks like", details.looks_like]);
      if (details.not_finite_count) cells.push(["NaN or infinite elements", number(details.not_finite_count)]);
      cells.push(["tolerance", "rtol " + number(details.rtol) + ", atol " + number(details.atol)]);
      parts.push(make("dl", { class: "facts" }, cells.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
    }
    if (details.problem_warnings) parts.push(make("p", { class: "hint" }, "The problem: " + details.problem_warnings));
    if (details.extension_errors) parts.push(make("pre", { class: "message" }, details.extension_errors));
    return parts;
  }

  // ---- times ------------------------------------------------------------------------------------------------------
  function figures(details) {
    if (!details.median_us) return [];
    const noise = details.noise_us === undefined ? "" : " ±" + kq.digits(100 * details.noise_us / details.median_us, 2) + "\u00a0%";
    const cells = [["speedup", kq.speedup(details.speedup)], ["median", kq.time(details.median_us) + noise], ["reference (" + details.baseline + (details.precision && details.precision !== "as_given" ? ", " + details.precision : "") + ")", kq.time(details.reference_us)], ["fastest, slowest", kq.time(details.min_us) + ", " + kq.time(details.max_us)], ["samples", String(details.samples_n)]];
    return [make("dl", { class: "tiles small" }, cells.map(([name, value]) => make("div", { class: "tile" }, make("dt", {}, name), make("dd", {}, make("strong", {}, value)))))];
  }
  function samples(job) {
    return job.cases.filter((one) => one.submission.length > 0).map((one) => {
      const left = one.submission_count - one.submission.length;
      const place = make("div", { class: "plot", role: "img", "aria-label": "Timed calls in their order" });
      const values = () => ["submission", "reference"].flatMap((side) => one[side].map((ns, i) => ({ n: i + 1, side, us: ns / 1e3 })));
      kq.whenSeen(place, () => kq.plot(place, "calls", values));
      return make("figure", { class: "wide" }, make("h3", {}, job.cases.length > 1 ? "Timed calls of " + one.name : "Timed calls"), place, make("figcaption", {}, "Each dot is one timed call, in the order of measurement." + (left > 0 ? " Of " + one.submission_count + " calls " + one.submission.length + " are drawn, taken evenly." : "")));
    });
  }
  function cases(job) {
    if (job.cases.length < 2) return [];
    return [make("h3", {}, "Workloads"), make("ul", {}, job.cases.map((one) => make("li", {}, one.name + ": " + one.verdict)))];
  }
  function profile(job) {
    if (!job.profile || job.profile.length === 0) return [];
    return [make("h3", {}, "Profile"), ...job.profile.map((kernel) => make("details", {}, make("summary", {}, kernel.kernel), make("dl", { class: "facts" }, Object.entries(kernel.metrics).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, number(value))]))))];
  }

  // ---- the rest ---------------------------------------------------------------------------------------------------
  function again(job) {
    const button = make("button", { type: "button" }, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(job.again);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
      }
    });
    const code = make("code", {}, job.again);
    return [make("h3", {}, "Measure it again"), make("p", {}, "Save the files above into one folder, and run there:"), make("div", { class: "command" }, make("pre", { tabindex: 0 }, code), button)];
  }
  // Terminals would colour their text by these; here they are noise. A worker puts ? for the escape character.
  const plainLog = (log) => log.replace(/\u001b\[[0-9;?]*[A-Za-z]|\?\[[0-9][0-9;]*m/g, "");

  function provenance(details, units) {
    return make("details", { class: "provenance" }, make("summary", {}, "Everything that is known of the job"), make("dl", { class: "facts" }, Object.entries(details).flatMap(([name, value]) => [make("dt", {}, name + (units[name] ? ", " + units[name] : "")), make("dd", {}, typeof value === "number" ? number(value) : String(value))])));
  }

  function fill(group, index, actions) {
    const job = group.jobs[index];
    const details = {};
    const units = {};
    group.keys.forEach((key, i) => {
      if (job.values[i] === null) return;
      details[key] = job.values[i];
      units[key] = group.units[i];
    });
    const close = make("button", { type: "button", class: "close", "aria-label": "Close" }, "✕");
    close.addEventListener("click", () => dialog.close());
    const outcome = details.verdict ?? details.state;
    const tone = { passed: "good", suspect: "policy", rejected: "policy" }[outcome] ?? (details.fault === "user" ? "bad" : details.verdict ? "fault" : "waiting");
    const line = [details.problem, details.backend, details.author, details.tags, details.device_model, details.finished_at && details.finished_at.slice(0, 16).replace("T", " ") + " UTC"].filter(Boolean).join(" · ");
    const log = plainLog(job.log);
    dialog.replaceChildren(make("div", { class: "job" },
      make("header", {}, make("div", {}, make("p", { class: "kind" }, "Job " + details.job_id), make("h2", { id: "job-title", tabindex: -1, autofocus: true }, details.label), make("p", { class: "quiet" }, line)), close),
      make("p", {}, make("span", { class: "chip " + tone }, outcome + (details.reason ? " (" + details.reason + ")" : ""))),
      actions, why(details), figures(details), cases(job), samples(job),
      make("h3", {}, "Sources"), sources(group, job, details),
      log ? [make("h3", {}, "What it printed"), make("pre", { class: "log", tabindex: 0 }, log)] : null,
      profile(job), again(job), provenance(details, units)));
  }

  // Shows a job of a group, unless the open dialog shows it already. `key` names the job, `closed` is called when the
  // reader closes the dialog, and `actions` is an element with what the reader may do, or null.
  function open(group, index, key, closed, actions = null) {
    onClose = null;
    fill(group, index, actions);
    dialog.dataset.job = key;
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    onClose = closed;
  }
  async function show(facts, table, row, closed) {
    const job = String(table.numbers.job[row]);
    onClose = null;
    if (dialog.open && dialog.dataset.job === job) return;
    // The groups of a page hold its jobs in their order.
    const group = await kq.data("group-" + Math.floor(row / facts.group_size));
    if (group !== null) open(group, row % facts.group_size, job, closed);
  }
  function hide() {
    if (dialog !== null && dialog.open) {
      onClose = null;
      dialog.close();
    }
  }
  return { show, open, hide, save };
})();
