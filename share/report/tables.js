"use strict";
// Tables of pages that are whole without a script: a filter, and sorting by a click on a heading. The state is in the
// address.
(() => {
  const { make } = kq;
  const order = new Intl.Collator("en", { numeric: true }); // level1/2 comes before level1/10
  const state = new URLSearchParams(location.hash.slice(1));
  const save = () => history.replaceState(null, "", state.size === 0 ? location.pathname : "#" + state.toString());

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const key = (name) => table.id + "." + name;
    const search = make("input", { type: "search", "aria-label": "Filter the table", placeholder: "Filter" + (table.dataset.hint ? " by " + table.dataset.hint : "") });
    const count = make("output", { "aria-live": "polite" });
    const select = table.dataset.choice === undefined ? null : make("select", { "aria-label": "Filter by " + table.dataset.choice });

    const show = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        const isShown = words.every((word) => texts[i].includes(word)) && (!select || !select.value || row.dataset.choice === select.value);
        row.hidden = !isShown;
        shown += isShown ? 1 : 0;
      });
      count.textContent = shown === rows.length ? shown + (shown === 1 ? " row" : " rows") : shown + " of " + rows.length + " rows";
    };
    const keep = (name, value) => {
      if (value) state.set(key(name), value);
      else state.delete(key(name));
      save();
    };
    const sort = (index, isDown) => {
      const cell = (row) => row.cells[index];
      const valueOf = (row) => cell(row).dataset.value ?? cell(row).textContent;
      const isNumber = rows.every((row) => valueOf(row) === "" || !Number.isNaN(Number(valueOf(row))));
      const sorted = [...rows].sort((a, b) => {
        const [left, right] = [valueOf(a), valueOf(b)];
        if (left === "" || right === "") return left === right ? 0 : left === "" ? 1 : -1;
        return (isDown ? -1 : 1) * (isNumber ? Number(left) - Number(right) : order.compare(left, right));
      });
      body.append(...sorted);
      [...table.tHead.rows[0].cells].forEach((head, i) => head.setAttribute("aria-sort", i !== index ? "none" : isDown ? "descending" : "ascending"));
    };

    [...table.tHead.rows[0].cells].forEach((head, i) => {
      const button = make("button", { type: "button" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const isDown = head.getAttribute("aria-sort") === "ascending";
        sort(i, isDown);
        keep("sort", (isDown ? "-" : "") + i);
      });
    });
    search.addEventListener("input", () => {
      keep("q", search.value);
      show();
    });
    const controls = make("div", { class: "controls" }, search);
    if (select !== null) {
      select.append(make("option", { value: "" }, "any " + table.dataset.choice));
      for (const choice of [...new Set(rows.map((row) => row.dataset.choice))].sort()) select.append(make("option", { value: choice }, choice));
      select.addEventListener("change", () => {
        keep("choice", select.value);
        show();
      });
      select.value = state.get(key("choice")) ?? "";
      controls.append(select);
    }
    controls.append(count);
    (table.closest(".scroll") ?? table).before(controls);
    search.value = state.get(key("q")) ?? "";
    const sorted = state.get(key("sort"));
    if (sorted !== null) sort(Number(sorted.replace("-", "")), sorted.startsWith("-"));
    show();
  }

  // Plots of such pages: their values are packed under the name of the plot.
  for (const element of document.querySelectorAll("[data-plot]")) {
    kq.whenSeen(element, async () => {
      const values = await kq.data(element.dataset.values);
      if (values !== null) kq.plot(element, element.dataset.plot, () => values);
    });
  }
  document.documentElement.dataset.ready = "yes";
})();
