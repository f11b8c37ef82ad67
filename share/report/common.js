"use strict";
// What all pages share: packed texts, text that may be hostile, the theme, and plots.
const kq = (() => {
  // ---- packed texts: zlib in Base64, in elements of type text/plain -----------------------------------------------
  const unpacked = new Map();

  async function inflate(base64) {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  }

  // Returns the value of a packed JSON text, or null where the page has none of that name.
  function data(id) {
    if (!unpacked.has(id)) {
      const element = document.getElementById(id);
      unpacked.set(id, element === null ? Promise.resolve(null) : inflate(element.textContent).then(JSON.parse));
    }
    return unpacked.get(id);
  }

  // ---- elements and text ------------------------------------------------------------------------------------------
  // Control characters, zero-width characters, and those that change the direction of writing.
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

  function codePoint(character) {
    return "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  }

  // Appends text to an element. A hidden character becomes visible as its code point.
  function append(element, text) {
    let from = 0;
    for (const match of text.matchAll(HIDDEN)) {
      element.append(text.slice(from, match.index));
      const mark = document.createElement("span");
      mark.className = "hidden-character";
      mark.textContent = codePoint(match[0]);
      element.append(mark);
      from = match.index + match[0].length;
    }
    element.append(text.slice(from));
    return element;
  }

  // The same as plain text, for attributes and canvases.
  function visible(text) {
    return String(text).replace(HIDDEN, (character) => "[" + codePoint(character) + "]");
  }

  // Makes an element. A child is an element or a text; attributes are set as they are.
  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
    }
    for (const child of children.flat()) {
      if (child === null || child === undefined) continue;
      if (child instanceof Node) element.append(child);
      else append(element, String(child));
    }
    return element;
  }

  // ---- figures ----------------------------------------------------------------------------------------------------
  function digits(value, count = 3) {
    return Number(value.toPrecision(count)).toLocaleString("en", { maximumSignificantDigits: count, useGrouping: false });
  }
  function time(us) {
    if (us === null || us === undefined || !(us > 0)) return "-";
    const three = (value, unit) => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0) + " " + unit;
    return us < 999.5 ? three(us, "us") : us < 999.5e3 ? three(us / 1e3, "ms") : three(us / 1e6, "s");
  }
  function speedup(value) {
    if (!(value > 0)) return "-";
    return (value < 0.01 ? value.toPrecision(2) : value < 100 ? value.toFixed(2) : value.toFixed(0)) + "x";
  }

  // ---- theme ------------------------------------------------------------------------------------------------------
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const drawn = [];

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
  }
  function redraw() {
    for (const draw of drawn) draw();
  }
  function addThemeButton() {
    const top = document.querySelector("header.top");
    if (top === null) return;
    const button = make("button", { type: "button", id: "theme", title: "Change between light and dark" });
    const name = () => (button.textContent = isDark() ? "Light" : "Dark");
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      name();
      redraw();
    });
    prefersDark.addEventListener("change", () => {
      name();
      redraw();
    });
    name();
    top.append(button);
  }
  // Paper is light.
  let beforePrint = null;
  addEventListener("beforeprint", () => {
    beforePrint = root.dataset.theme || "";
    root.dataset.theme = "light";
    redraw();
  });
  addEventListener("afterprint", () => {
    if (beforePrint) root.dataset.theme = beforePrint;
    else delete root.dataset.theme;
    redraw();
  });

  // ---- plots ------------------------------------------------------------------------------------------------------
  const NARROW_PX = 420;
  const PX_OF_LETTER = 7.6; // in the labels of axes
  const POINTS_OF_SVG_MAX = 600; // more marks are drawn faster on a canvas

  // Texts in values may be hostile; a canvas would turn its line by them.
  function safe(values) {
    return values.map((value) => {
      const copy = {};
      for (const [key, one] of Object.entries(value)) copy[key] = typeof one === "string" ? visible(one) : one;
      return copy;
    });
  }

  // Returns whether the library of plots is there. A page holds it packed, so that it opens before the library is read,
  // or has loaded it from beside itself. The policy of the page knows the hash of the unpacked script.
  let library = null;
  function loadLibrary() {
    library ??= (async () => {
      const element = document.getElementById("vega");
      if (typeof window.vegaEmbed === "undefined" && element !== null) {
        const script = make("script");
        script.text = await inflate(element.textContent);
        document.body.append(script);
      }
      return typeof window.vegaEmbed !== "undefined";
    })();
    return library;
  }

  // Draws a plot into an element, now and after each change of the theme. `values` is a function.
  function plot(element, kind, values, onClick = null) {
    let view = null;
    const draw = async () => {
      if (!(await loadLibrary())) return;
      const all = await data("specifications");
      const rows = safe(values());
      const spec = structuredClone(all.plots[kind].spec);
      spec.data = { name: "values", values: rows };
      spec.width = "container";
      // Vega-Lite warns of a height by steps in a width that follows its container.
      if (spec.height?.step) {
        const lines = new Set(rows.map((row) => row[spec.encoding.y.field])).size;
        spec.height = Math.max(1, lines) * spec.height.step * (spec.encoding.yOffset ? 2 : 1);
      }
      spec.autosize = { type: "fit-x", contains: "padding" };
      spec.config = { ...all.themes[isDark() ? "dark" : "light"], background: "transparent" };
      // On a phone long names leave no room for marks, and legends stand below each other. Names differ at their ends.
      const limit = Math.max(80, Math.min(320, element.clientWidth / 3));
      spec.config.axis = { ...spec.config.axis, labelLimit: limit };
      if (spec.encoding?.y?.type === "nominal") {
        const count = Math.floor(limit / PX_OF_LETTER);
        spec.encoding.y.axis = { ...spec.encoding.y.axis, labelExpr: `length(datum.label) > ${count} ? '…' + slice(datum.label, ${1 - count}) : datum.label` };
      }
      if (element.clientWidth < NARROW_PX) spec.config.legend = { ...spec.config.legend, columns: 1, layout: { top: { direction: "vertical", anchor: "start" } } };
      if (view !== null) view.finalize();
      view = await window.vegaEmbed(element, spec, {
        actions: false, ast: true, renderer: rows.length > POINTS_OF_SVG_MAX ? "canvas" : "svg",
        loader: { load: () => Promise.reject(new Error("a page loads nothing")) },
        tooltip: { theme: isDark() ? "dark" : "light" },
      });
      if (onClick !== null) view.view.addEventListener("click", (event, item) => item && item.datum && onClick(item.datum));
      element.dataset.drawn = "yes";
    };
    drawn.push(draw);
    draw();
    return draw;
  }

  // Returns what the fragment of the address says under these names: texts, empty for what it does not name.
  function stateInAddress(names) {
    const given = new URLSearchParams(location.hash.slice(1));
    return Object.fromEntries(names.map((name) => [name, given.get(name) ?? ""]));
  }
  // Returns the fragment for a state: "#" and its texts that are not empty.
  function addressOf(state) {
    return "#" + new URLSearchParams(Object.entries(state).filter(([, text]) => text)).toString();
  }

  // Calls `draw` once when the element comes near the window.
  function whenSeen(element, draw) {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      draw();
    }, { rootMargin: "300px" });
    observer.observe(element);
  }

  return { data, append, visible, make, time, speedup, digits, plot, stateInAddress, addressOf, whenSeen, addThemeButton };
})();
kq.addThemeButton();
