// Figures of the dashboard: SVG by d3. Each reads values under the pointer, zooms into a range of steps by dragging, and
// gives itself away as SVG and CSV.
"use strict";

const charts = (() => {
  // As wide as a narrow screen is, or its text would be drawn smaller than it can be read.
  const size = {width: Math.max(300, Math.min(560, document.documentElement.clientWidth - 26)), height: 250, left: 52, right: 10, top: 8, bottom: 30};
  const few = 24;  // points that are marked: a line between them was measured nowhere
  const colours = ["#2f7ed8", "#d9730d", "#1a9850", "#a14fc4", "#c2185b", "#00838f", "#8d6e63", "#7a8b00"];
  const bisect = d3.bisector((p) => p[0]).left;

  function number(value) {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
    return String(+value.toPrecision(4));
  }

  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], {type}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function button(text, label, on) {
    const out = document.createElement("button");
    out.type = "button";
    out.textContent = text;
    out.setAttribute("aria-label", label);
    out.addEventListener("click", on);
    return out;
  }

  /// The drawing with the colours that it has on the page, for it leaves the page's style sheet behind.
  function standalone(svg) {
    const copy = svg.cloneNode(true), from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
    from.forEach((node, i) => {
      const style = getComputedStyle(node);
      for (const key of ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family"])
        to[i].setAttribute(key, style.getPropertyValue(key));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    return copy.outerHTML;
  }

  function frame(parent, title) {
    const figure = document.createElement("figure"), head = document.createElement("div");
    const heading = document.createElement("h3"), legend = document.createElement("div");
    const caption = document.createElement("figcaption");
    head.className = "head";
    legend.className = "legend";
    heading.textContent = title;
    head.append(heading);
    const holder = document.createElement("div");
    figure.append(head, holder, legend, caption);
    figure.hidden = true;  // until there is something to draw
    parent.append(figure);
    const svg = d3.select(holder).append("svg").attr("viewBox", `0 0 ${size.width} ${size.height}`).attr("role", "img");
    return {figure, head, legend, caption, svg};
  }

  /// series: [{name, points: [[step, value]…], dots}]; options: {title, unit, log, steps, range, onRange}, of which steps
  /// says that a value holds for its step and no line leads to the next. Answers {update}.
  function lines(parent, options) {
    const parts = frame(parent, options.title), {svg, caption, legend} = parts;
    const x = d3.scale.linear().range([size.left, size.width - size.right]);
    let y, shown = [], along = null, pointed = null;  // pointed: where the pointer is, in the drawing's units
    const xAxis = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${size.height - size.bottom})`);
    const yAxis = svg.append("g").attr("class", "axis").attr("transform", `translate(${size.left},0)`);
    const xLabel = svg.append("text").attr("x", size.width - size.right).attr("y", size.height - 2).attr("text-anchor", "end");
    const marks = svg.append("g"), cross = svg.append("line").attr("class", "cross").style("display", "none");
    const brush = d3.svg.brush().x(x).on("brushend", () => {
      if (brush.empty()) return;
      const [from, to] = brush.extent().map((v) => Math.round(along.step(v)));
      svg.select(".brush").call(brush.clear());
      if (to > from && options.onRange) options.onRange([from, to]);
    });
    const over = svg.append("g").attr("class", "brush");
    const name = options.title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    parts.head.append(button("all", `${options.title}: show all steps`, () => options.onRange && options.onRange(null)),
      button("SVG", `${options.title}: download as SVG`, () => save(name + ".svg", "image/svg+xml", standalone(svg.node()))),
      button("CSV", `${options.title}: download as CSV`, () => save(name + ".csv", "text/csv",
        "series,step,value\n" + shown.map((s) => s.points.map((p) => `"${s.name.replace(/"/g, '""')}",${p[0]},${p[1]}`).join("\n")).join("\n") + "\n")));

    function read(step) {
      const near = shown.map((s) => {
        const at = Math.min(bisect(s.points, step), s.points.length - 1);
        const before = s.points[Math.max(0, at - 1)], after = s.points[at];
        return [s, step - before[0] < after[0] - step ? before : after];
      });
      caption.textContent = near.map(([s, p]) => `${shown.length > 1 ? s.name + " " : ""}${number(p[1])} at step ${p[0]}`).join("; ");
    }
    function rest() {
      pointed = null;
      cross.style("display", "none");
      caption.textContent = shown.length === 1 && shown[0].points.length
        ? `${number(shown[0].points[shown[0].points.length - 1][1])} at step ${shown[0].points[shown[0].points.length - 1][0]}` : "";
    }

    function point() {
      const at = Math.max(size.left, Math.min(size.width - size.right, pointed));
      cross.style("display", null).attr("x1", at).attr("x2", at).attr("y1", size.top).attr("y2", size.height - size.bottom);
      read(along.step(x.invert(at)));
    }

    /// across: {label, of(step), step(value)}, what is drawn against instead of steps; null: steps.
    function update(series, range, across) {
      shown = series.filter((s) => s.points.length);
      along = across || {label: "step", of: (step) => step, step: (value) => value};
      xLabel.text(along.label);
      parts.figure.hidden = !shown.length;
      if (!shown.length) return rest();
      const values = shown.flatMap((s) => s.points.map((p) => p[1])).filter((v) => !options.log || v > 0);
      const steps = (range || d3.extent(shown.flatMap((s) => [s.points[0][0], s.points[s.points.length - 1][0]]))).map(along.of);
      x.domain(steps[0] === steps[1] ? [steps[0], steps[1] + 1] : steps);
      let [low, high] = d3.extent(values);
      const log = options.log && high / low > 20;
      if (low === high) { low -= Math.abs(low) * .1 || 1; high += Math.abs(high) * .1 || 1; }
      y = (log ? d3.scale.log() : d3.scale.linear()).domain([low, high]).range([size.height - size.bottom, size.top]);
      if (!log) y.nice();
      xAxis.call(d3.svg.axis().scale(x).orient("bottom").ticks(6).tickFormat(across ? d3.format(".3g") : d3.format("d")).outerTickSize(0));
      const ticks = log ? y.ticks().filter((v, i, all) => all.length < 7 || /^[125]/.test(v.toExponential())) : y.ticks(5);
      yAxis.call(d3.svg.axis().scale(y).orient("left").tickValues(ticks).tickFormat(log ? d3.format(".3g") : y.tickFormat(5)).innerTickSize(-(size.width - size.left - size.right)).outerTickSize(0));
      const seen = (p) => !log || p[1] > 0, colour = (s, i) => s.colour || colours[i % colours.length];
      const path = d3.svg.line().x((p) => x(along.of(p[0]))).y((p) => y(p[1])).defined(seen).interpolate(options.steps ? "step-before" : "linear");
      const drawn = marks.selectAll("g").data(shown), entered = drawn.enter().append("g");
      entered.append("path").attr("class", "line");
      entered.append("g").attr("class", "points");
      drawn.exit().remove();
      drawn.select("path").attr("d", (s) => path(s.points)).attr("stroke", colour).classed("dots", (s) => s.dots);
      drawn.select(".points").attr("fill", colour).each(function (s) {
        const points = s.points.length === 1 || (s.points.length <= few && !options.steps) ? s.points.filter(seen) : [];
        const all = d3.select(this).selectAll("circle").data(points);
        all.enter().append("circle").attr("r", 3);
        all.exit().remove();
        all.attr("cx", (p) => x(along.of(p[0]))).attr("cy", (p) => y(p[1]));
      });
      legend.replaceChildren(...(shown.length < 2 ? [] : shown.map((s, i) => {
        const item = document.createElement("span"), mark = document.createElement("i");
        mark.style.background = colour(s, i);
        item.append(mark, s.name);
        return item;
      })));
      svg.attr("aria-label", `${options.title} over ${along.label} ${number(x.domain()[0])} to ${number(x.domain()[1])}, ` +
        shown.map((s) => `${s.name}: from ${number(s.points[0][1])} to ${number(s.points[s.points.length - 1][1])}`).join("; "));
      over.call(brush.x(x));
      over.selectAll("rect").attr("y", size.top).attr("height", size.height - size.top - size.bottom);
      over.on("mousemove", function () { pointed = d3.mouse(this)[0]; point(); }).on("mouseleave", rest);
      // A run that goes on is drawn again and again; who reads a value goes on reading it.
      if (pointed === null) rest(); else point();
    }
    return {update};
  }

  /// A heat map of adapters × steps. rows: [names], columns: [{step, values}…].
  function heat(parent, options) {
    const parts = frame(parent, options.title), {svg, caption} = parts;
    const name = options.title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    let shown = {rows: [], columns: []};
    const cells = svg.append("g"), xAxis = svg.append("g").attr("class", "axis");
    parts.head.append(button("SVG", `${options.title}: download as SVG`, () => save(name + ".svg", "image/svg+xml", standalone(svg.node()))),
      button("CSV", `${options.title}: download as CSV`, () => save(name + ".csv", "text/csv", "step,adapter,value\n" +
        shown.columns.map((c) => c.values.map((v, i) => `${c.step},${shown.rows[i] || i},${v}`).join("\n")).join("\n") + "\n")));
    function update(rows, columns, last) {
      shown = {rows, columns};
      parts.figure.hidden = !columns.length;
      if (!columns.length) return;
      const count = columns[0].values.length, height = Math.max(120, Math.min(420, count * 14)) + size.bottom;
      svg.attr("viewBox", `0 0 ${size.width} ${height}`);
      const x = d3.scale.linear().domain([columns[0].step, Math.max(last, columns[columns.length - 1].step + 1)]).range([size.left, size.width - size.right]);
      const band = (height - size.bottom - size.top) / count;
      const all = columns.flatMap((c) => c.values).filter((v) => v > 0);
      const colour = d3.scale.log().domain(d3.extent(all)).range(["#123b6d", "#ffd166"]).interpolate(d3.interpolateHcl);
      const data = columns.flatMap((c, j) => c.values.map((v, i) => ({i, v, from: c.step, to: j + 1 < columns.length ? columns[j + 1].step : x.domain()[1]})));
      const rects = cells.selectAll("rect").data(data);
      rects.enter().append("rect");
      rects.exit().remove();
      rects.attr("x", (d) => x(d.from)).attr("width", (d) => Math.max(.5, x(d.to) - x(d.from))).attr("y", (d) => size.top + d.i * band)
        .attr("height", band).attr("fill", (d) => d.v > 0 ? colour(d.v) : "#888")
        .on("mousemove", (d) => { caption.textContent = `${rows[d.i] || "adapter " + d.i}: ${number(d.v)} from step ${d.from}`; });
      xAxis.attr("transform", `translate(0,${height - size.bottom})`).call(d3.svg.axis().scale(x).orient("bottom").ticks(6).tickFormat(d3.format("d")).outerTickSize(0));
      const [low, high] = d3.extent(all);
      caption.textContent = `${count} adapters, ` + (low === high ? `all ${number(low)}` : `${number(low)} (dark) to ${number(high)} (light)`);
      svg.attr("aria-label", `${options.title} of ${count} adapters, ${number(low)} to ${number(high)}`);
    }
    return {update};
  }

  /// Steps seen through a curve that never falls, such as ε: [[step, value]…].
  function through(points, label) {
    const steps = points.map((p) => p[0]), values = points.map((p) => p[1]);
    const scale = d3.scale.linear().domain(steps).range(values).clamp(true);
    return {label, of: scale, step: (value) => steps[Math.min(d3.bisectLeft(values, value), steps.length - 1)]};
  }

  return {lines, heat, through, number};
})();
