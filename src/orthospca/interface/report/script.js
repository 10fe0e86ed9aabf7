// What the page can do beyond being read. Texts reach the page as textContent only, never as markup.
(() => {
  "use strict";
  const root = document.documentElement;
  const SVG = "http://www.w3.org/2000/svg";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, properties = {}, ...content) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...content);
    return made;
  };
  const draw = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const held = (within, kind) => {
    const found = within.querySelector(`script.${kind}`);
    return found ? JSON.parse(found.textContent) : null;
  };
  root.classList.add("js");

  // Light and dark.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const sayTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `Show the report in ${isDark() ? "light" : "dark"} colours`); };
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; sayTheme(); });
  dark.addEventListener("change", sayTheme);
  sayTheme();

  // The contents fold on a phone and follow the reader on a screen.
  const contents = document.querySelector("nav details");
  if (contents && matchMedia("(max-width: 60rem)").matches) contents.open = false;
  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  if ("IntersectionObserver" in window) {
    const seen = new Set();
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries) entry.isIntersecting ? seen.add(entry.target) : seen.delete(entry.target);
      const top = [...seen].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)[0];
      for (const [id, link] of links) top && id === top.id ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
    }, { rootMargin: "-10% 0px -60% 0px" });
    for (const section of all("section.card[id]")) if (links.has(section.id)) watch.observe(section);
  }

  // One tip for everything.
  const tip = make("div", { id: "tip", hidden: true });
  const spoken = make("div", { className: "unseen" });
  spoken.setAttribute("aria-live", "polite");
  document.body.append(tip, spoken);
  const showTip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(x + 14, 8), innerWidth - box.width - 8);
    const above = y - box.height - 12;
    tip.style.transform = `translate(${left}px, ${above > 8 ? above : y + 18}px)`;
  };

  // Charts: the mark next to the pointer, or the one chosen with the arrow keys.
  class Plot {
    constructor(figure) {
      this.figure = figure;
      this.svg = figure.querySelector("svg.chart");
      this.holder = figure.querySelector(".plot");
      this.at = -1;
      this.cursor = null;
      this.use(held(figure, "marks"));
      const label = this.svg.getAttribute("aria-label");
      this.holder.tabIndex = 0;
      this.holder.setAttribute("role", "group");
      this.holder.setAttribute("aria-label", `Chart: ${label} Arrow keys read its values.`);
      const follow = (event) => this.show(this.nearest(event), event);
      this.svg.addEventListener("pointermove", follow);
      this.svg.addEventListener("pointerdown", follow);
      this.svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.hide(); });
      this.holder.addEventListener("keydown", (event) => this.key(event));
      this.holder.addEventListener("blur", () => this.hide());
    }
    use(data) {
      this.data = data;
      if (data.near === "cell") {
        const [left, top, wide, high] = data.grid;
        this.marks = data.cells.map(([row, column, text]) => [left + wide * (column + 0.5), top + high * (row + 0.5), `${data.rows[row]}\n${data.columns[column]}: ${text}`]);
        this.places = new Map(data.cells.map(([row, column], i) => [row * data.columns.length + column, i]));
      } else this.marks = data.marks;
    }
    nearest(event) {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
      if (this.data.near === "cell") {
        const [left, top, wide, high] = this.data.grid;
        const column = Math.floor((point.x - left) / wide), row = Math.floor((point.y - top) / high);
        if (column < 0 || column >= this.data.columns.length) return -1;
        return this.places.get(row * this.data.columns.length + column) ?? -1;
      }
      const along = this.data.near === "x" ? 0.001 : 1;
      let best = -1, least = this.data.near === "x" ? 2500 : 500;
      this.marks.forEach(([x, y], i) => {
        const distance = (x - point.x) ** 2 + along * (y - point.y) ** 2;
        if (distance < least) { least = distance; best = i; }
      });
      return best;
    }
    show(index, event) {
      if (index < 0) return this.hide();
      this.at = index;
      this.byKey = !event;
      const [x, y, text] = this.marks[index];
      this.cursor ??= this.svg.appendChild(draw(this.data.near === "cell" ? "rect" : "circle", { class: "cursor" }));
      const place = this.data.near === "cell"
        ? { x: x - this.data.grid[2] / 2, y: y - this.data.grid[3] / 2, width: this.data.grid[2] - 1, height: this.data.grid[3] - 1 }
        : { cx: x, cy: y, r: 6.5 };
      for (const [key, value] of Object.entries(place)) this.cursor.setAttribute(key, value);
      const on = new DOMPoint(x, y).matrixTransform(this.svg.getScreenCTM());
      showTip(text, event?.clientX ?? on.x, event?.clientY ?? on.y);
    }
    hide() {
      tip.hidden = true;
      this.cursor?.remove();
      this.cursor = null;
    }
    key(event) {
      const last = this.marks.length - 1;
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") { this.hide(); return; }
      if (last < 0 || (step === undefined && event.key !== "Home" && event.key !== "End")) return;
      event.preventDefault();
      let next = event.key === "Home" ? 0 : event.key === "End" ? last : Math.min(Math.max(this.at + step, 0), last);
      if (this.data.near === "cell" && this.at >= 0 && /Up|Down/.test(event.key)) {
        const column = this.data.cells[this.at][1];
        for (next = this.at + step; next >= 0 && next <= last && this.data.cells[next][1] !== column;) next += step;
        if (next < 0 || next > last) next = this.at;
      }
      this.show(next);
      spoken.textContent = this.marks[next][2];
    }
  }
  const plots = new Map(all("figure[data-name]").map((figure) => [figure, new Plot(figure)]));
  // A tip of the pointer ends when the page moves under it; one of the keys moves with its mark.
  document.addEventListener("scroll", () => {
    const plot = plots.get(document.activeElement?.closest?.("figure"));
    plot?.byKey && plot.cursor ? plot.show(plot.at) : (tip.hidden = true);
  }, { passive: true, capture: true });

  // Scores: any two components against each other.
  const round = (low, high, most) => {
    const raw = (high - low) / Math.max(most - 1, 1), power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * (1 - 1e-9));
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i <= high / step + 1e-9; i += 1) found.push(i * step);
    return found;
  };
  const write = (number) => String(Number(number.toPrecision(4))).replace("-", "−");
  const redraw = (plot, scores, across, up) => {
    const [left, top, right, bottom] = plot.data.box;
    const axis = (k) => {
      const low = Math.min(...scores.values[k].map((v) => v ?? 0)), high = Math.max(...scores.values[k].map((v) => v ?? 0));
      const room = 0.05 * (high - low) || 0.5;
      return [low - room, high + room];
    };
    const [x0, x1] = axis(across), [y0, y1] = axis(up);
    const x = (v) => left + ((v - x0) / (x1 - x0)) * (right - left);
    const y = (v) => bottom - ((v - y0) / (y1 - y0)) * (bottom - top);
    for (const old of all(".tick, .grid, .axis, .name", plot.svg)) old.remove();
    const behind = [];
    const line = (a, b, c, d, kind) => behind.push(draw("path", { class: kind, d: `M${a} ${b}L${c} ${d}` }));
    const text = (a, b, content, kind, more) => { const made = draw("text", { x: a, y: b, class: kind, ...more }); made.textContent = content; behind.push(made); };
    for (const v of round(y0, y1, 8)) { line(left, y(v), right, y(v), "grid"); text(left - 6, y(v) + 4, write(v), "tick", { "text-anchor": "end" }); }
    for (const v of round(x0, x1, 9)) { line(x(v), bottom, x(v), bottom + 4, "axis"); text(x(v), bottom + 17, write(v), "tick", { "text-anchor": "middle" }); }
    line(left, bottom, right, bottom, "axis");
    if (x0 < 0 && x1 > 0) line(x(0), top, x(0), bottom, "axis");
    if (y0 < 0 && y1 > 0) line(left, y(0), right, y(0), "axis");
    text((left + right) / 2, bottom + 34, scores.axes[across], "name", { "text-anchor": "middle" });
    const middle = (top + bottom) / 2;
    text(13, middle, scores.up[up], "name", { "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` });
    plot.svg.prepend(...behind);
    const marks = [];
    all("path.dots", plot.svg).forEach((path, g) => {
      let way = "";
      for (const i of scores.groups[g].rows) {
        const a = x(scores.values[across][i]), b = y(scores.values[up][i]);
        way += `M${a.toFixed(1)} ${b.toFixed(1)}h0`;
        marks.push([a, b, [scores.rows[i], scores.groups[g].name, `${scores.names[across]}: ${write(scores.values[across][i])}`, `${scores.names[up]}: ${write(scores.values[up][i])}`].filter(Boolean).join("\n")]);
      }
      path.setAttribute("d", way);
    });
    plot.hide();
    plot.at = -1;
    plot.data.marks = plot.marks = marks;
  };
  for (const [figure, plot] of plots) {
    const scores = held(figure, "scores"), choices = all("select", figure);
    if (!scores || choices.length !== 2) continue;
    for (const choice of choices) choice.addEventListener("change", () => redraw(plot, scores, choices[0].selectedIndex, choices[1].selectedIndex));
    plot.scores = scores;
    redraw(plot, scores, 0, 1);
  }

  // Tables: sorted by a heading, reduced to what is searched for.
  const value = (cell) => {
    const text = cell.dataset.value ?? cell.textContent.trim();
    const number = Number(text.replace("−", "-").replace(/[%\s<+]/g, ""));
    return text !== "" && Number.isFinite(number) ? number : text;
  };
  const order = new Intl.Collator(undefined, { numeric: true });
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : typeof a === "number" ? -1 : typeof b === "number" ? 1 : order.compare(a, b));
  for (const table of all("table.sortable")) {
    const headings = all("thead th", table);
    headings.forEach((heading, column) => {
      const button = make("button", { type: "button" }, ...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const numeric = heading.classList.contains("n");
        const now = heading.getAttribute("aria-sort");
        const down = now ? now === "ascending" : numeric;
        for (const other of headings) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [value(row.cells[column]), row]);
        const empty = (key) => key === "";
        rows.sort(([a], [b]) => empty(a) - empty(b) || (down ? -compare(a, b) : compare(a, b)));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }
  for (const search of all("input[data-filters]")) {
    const table = document.getElementById(search.dataset.filters);
    const count = search.closest(".controls").querySelector("output");
    search.addEventListener("input", () => {
      const wanted = search.value.trim().toLocaleLowerCase().split(/\s+/);
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        row.hidden = !wanted.every((word) => row.textContent.toLocaleLowerCase().includes(word));
        shown += !row.hidden;
      }
      count.textContent = `${shown} of ${table.tBodies[0].rows.length} rows`;
    });
  }

  // The same variable in other components.
  document.addEventListener("pointerover", (event) => {
    const item = event.target.closest?.(".bars li");
    for (const other of all(".bars li.same")) other.classList.remove("same");
    if (item) for (const other of all(`.bars li[data-j="${CSS.escape(item.dataset.j)}"]`, item.closest(".parts"))) other.classList.add("same");
  });

  // Downloads.
  const save = (name, content, type) => {
    const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = make("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };
  const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : String(text));
  const csv = (rows) => rows.map((row) => row.map((entry) => cell(String(entry ?? ""))).join(",")).join("\r\n") + "\r\n";
  const standalone = (svg) => {
    const rules = document.getElementById("chart-style").textContent;
    const colours = new Map([...rules.matchAll(/(--\w+):\s*([^;]+);/g)].map(([, name, colour]) => [name, colour]));
    const copy = svg.cloneNode(true);
    for (const old of all(".cursor", copy)) old.remove();
    const { width, height } = svg.viewBox.baseVal;
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.removeAttribute("style");
    const style = draw("style", {}), title = draw("title", {});
    title.textContent = svg.getAttribute("aria-label");
    style.textContent = rules.replace(/:root\s*{[^}]*}/, "").replace(/var\((--\w+)\)/g, (_, name) => colours.get(name));
    copy.prepend(title, style, draw("rect", { width, height, fill: "#ffffff" }));
    return new XMLSerializer().serializeToString(copy);
  };
  const button = (text, label, action) => {
    const made = make("button", { type: "button", textContent: text });
    made.setAttribute("aria-label", label);
    made.addEventListener("click", action);
    return made;
  };
  const picture = (plot, name) => {
    const image = new Image(), { width, height } = plot.svg.viewBox.baseVal;
    image.addEventListener("load", () => {
      const canvas = make("canvas", { width: 2 * width, height: 2 * height });
      canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
      canvas.toBlob((blob) => save(`${name}.png`, blob));
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(plot.svg))}`;
  };
  for (const [figure, plot] of plots) {
    const name = figure.dataset.name, title = figure.querySelector("h4").textContent;
    figure.querySelector(".tools").append(
      button("SVG", `Download ${title} as SVG`, () => save(`${name}.svg`, standalone(plot.svg), "image/svg+xml")),
      button("PNG", `Download ${title} as PNG`, () => picture(plot, name)));
    const scores = plot.scores;
    if (scores) figure.querySelector(".tools").append(button("CSV", "Download the scores as CSV", () => {
      const labels = scores.groups.flatMap((group) => group.rows.map((i) => [i, group.name])).sort((a, b) => a[0] - b[0]);
      const heads = ["row", ...(scores.by ? [scores.by] : []), ...scores.names];
      save("scores.csv", csv([heads, ...labels.map(([i, group]) => [scores.rows[i], ...(scores.by ? [group] : []), ...scores.values.map((column) => column[i])])]), "text/csv");
    }));
  }
  for (const place of all("[data-result]")) {
    const chapter = place.closest(".chapter"), result = held(chapter, "result");
    if (!result) continue;
    const names = result.feature_names ?? [...Array(result.n_features).keys()].map(String);
    const loadings = () => {
      const columns = result.components.map((found) => new Map(found.support.map((j, i) => [j, found.loadings[i]])));
      return csv([["variable", ...columns.map((_, k) => `component${k + 1}`)], ...names.map((name, j) => [name, ...columns.map((column) => column.get(j) ?? 0)])]);
    };
    const table = () => csv([["component", "variance", "upper_bound", "status", "nodes", "seconds"], ...result.components.map((found, k) => [k + 1, found.variance, found.upper_bound, found.status, found.nodes, found.runtime])]);
    place.append(
      button("loadings.csv", "Download the loadings as CSV", () => save("loadings.csv", loadings(), "text/csv")),
      button("components.csv", "Download variances and bounds as CSV", () => save("components.csv", table(), "text/csv")),
      button("result.json", "Download the result as JSON", () => save("result.json", JSON.stringify(result, null, 1), "application/json")));
  }
  for (const place of all(".copy")) {
    if (!navigator.clipboard) break;
    const made = button("Copy", "Copy the command", () => navigator.clipboard.writeText(place.querySelector("code").textContent).then(() => { made.textContent = "Copied"; }, () => {}));
    place.append(made);
  }
})();
