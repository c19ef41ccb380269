
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const card = document.getElementById("card");
  const chunks = data.chunks;
  const columns = data.columns.length - 1;
  const LABELS = 190, AXIS = 22;
  const rowHeight = Math.max(4, Math.min(16, Math.floor(30000 / Math.max(1, chunks.length))));
  const columnWidth = Math.max(2, Math.min(24, Math.floor(900 / Math.max(1, columns))));
  const cell = Math.max(4, Math.min(14, Math.floor(900 / Math.max(1, chunks.length))));
  let kept = null;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function sized(id, width, height) {
    const canvas = document.getElementById(id);
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    return [canvas, pen];
  }

  const shown = () => document.querySelector("input[name=shown]:checked").value;

  function value(chunk, column) {
    if (chunk.brightness[column] === null && chunk.attention[column] === 0) return null;
    if (shown() === "brightness") return chunk.brightness[column];
    const share = chunk.attention[column] / data.finest;
    return shown() === "attention" ? share : share / Math.max(1, chunk.tokens);
  }

  /* Ranks, not amounts: a few bright ones would leave all others black. */
  function ranks() {
    const all = [];
    for (const chunk of chunks) for (let c = 0; c < columns; c++) { const v = value(chunk, c); if (v !== null) all.push(v); }
    all.sort((a, b) => a - b);
    return (v) => {
      let low = 0, high = all.length;
      while (low < high) { const middle = (low + high) >> 1; if (all[middle] <= v) low = middle + 1; else high = middle; }
      return all.length ? low / all.length : 0;
    };
  }

  const columnOf = (step) => {
    let column = 0;
    while (column < columns && data.columns[column + 1] <= step) column++;
    return column;
  };

  /* What returns at once is marked beside its burial. */
  function mark(pen, x, y, kind) {
    const size = Math.max(2, Math.min(5, rowHeight / 2 - 1));
    pen.fillStyle = colour(kind === "returned" ? "--returned" : "--buried");
    pen.beginPath();
    if (kind === "returned") pen.arc(x, y, size, 0, 2 * Math.PI);
    else { pen.moveTo(x, y - size); pen.lineTo(x + size, y); pen.lineTo(x, y + size); pen.lineTo(x - size, y); }
    pen.fill();
  }

  function label(pen, chunk, y) {
    if (rowHeight < 9) return;
    pen.fillStyle = colour("--ink");
    pen.globalAlpha = chunk.role === "user" ? 1 : 0.7;
    const words = chunk.text.replace(/\s+/g, " ").trim();
    pen.fillText(`${chunk.role === "user" ? "▸" : " "} ${words.slice(0, 30)}${words.length > 30 ? "…" : ""}`, 4, y, LABELS - 8);
    pen.globalAlpha = 1;
  }

  function drawMap() {
    const [, pen] = sized("map", LABELS + columns * columnWidth + 12, AXIS + chunks.length * rowHeight + 4);
    const rank = ranks(), glow = colour("--glow");
    pen.fillStyle = colour("--ink");
    data.replies.forEach(([first], number) => {
      const x = LABELS + columnOf(first) * columnWidth;
      pen.fillText(String(number + 1), x + 2, AXIS / 2);
      pen.fillRect(x, AXIS - 4, 1, 4);
    });
    chunks.forEach((chunk, row) => {
      const y = AXIS + row * rowHeight;
      if (kept === row) { pen.fillStyle = colour("--line"); pen.fillRect(0, y, LABELS, rowHeight); }
      label(pen, chunk, y + rowHeight / 2);
      for (let c = 0; c < columns; c++) {
        const v = value(chunk, c);
        pen.fillStyle = v === null ? colour("--pale") : `rgb(${glow} / ${0.06 + 0.94 * rank(v)})`;
        pen.fillRect(LABELS + c * columnWidth, y, columnWidth, rowHeight - 1);
      }
      for (const [step, kind] of chunk.marks) {
        const isLate = step >= data.columns[columns];
        const x = LABELS + (isLate ? columns : columnOf(step)) * columnWidth;
        mark(pen, x + (isLate ? 4 : kind === "returned" ? 3 : -3), y + rowHeight / 2, kind);
      }
    });
  }

  function drawLooks() {
    const [, pen] = sized("looks", LABELS + chunks.length * cell + 4, data.looks.length * Math.max(cell, 12) + 4);
    const high = Math.max(12, cell), glow = colour("--glow");
    const most = Math.max(1, ...data.looks.map((look) => Math.max(...look.at)));
    data.looks.forEach((look, row) => {
      label(pen, chunks[look.by], row * high + high / 2);
      look.at.forEach((share, column) => {
        pen.fillStyle = `rgb(${glow} / ${Math.sqrt(share / most)})`;
        pen.fillRect(LABELS + column * cell, row * high, cell - 1, high - 1);
        if (kept === column) { pen.fillStyle = colour("--ink"); pen.fillRect(LABELS + column * cell, row * high + high - 2, cell - 1, 1); }
      });
    });
  }

  function element(name, text, className = "") {
    const made = document.createElement(name);
    made.textContent = text;
    made.className = className;
    return made;
  }

  function tell(chunk, facts) {
    const list = document.createElement("dl");
    for (const [name, what] of facts) list.append(element("dt", name), element("dd", what));
    const marks = chunk.marks.map(([step, kind, why]) => element("p", `Step ${step}: ${kind}. ${why}`, "hint"));
    card.replaceChildren(element("h2", chunk.name), element("p", chunk.text, "text"), list, ...marks);
  }

  const percent = (share) => `${(100 * share / data.finest).toFixed(2)} %`;

  function pointAtMap(x, y, isClick) {
    const row = Math.floor((y - AXIS) / rowHeight), column = Math.floor((x - LABELS) / columnWidth);
    const chunk = chunks[row];
    if (!chunk) return;
    if (isClick) { kept = kept === row ? null : row; drawMap(); drawLooks(); }
    const facts = [["tokens", String(chunk.tokens)], ["in context", chunk.lives.map(([a, b]) => `${a}–${b ?? ""}`).join(", ")]];
    if (column >= 0 && column < columns) {
      facts.push(["steps", `${data.columns[column]}–${data.columns[column + 1] - 1}`],
        ["brightness", chunk.brightness[column] === null ? "not living" : String(chunk.brightness[column])],
        ["attention", percent(chunk.attention[column])], ["written then", data.texts[column]]);
    }
    tell(chunk, facts);
  }

  function pointAtLooks(x, y) {
    const look = data.looks[Math.floor(y / Math.max(12, cell))], column = Math.floor((x - LABELS) / cell);
    if (!look) return;
    const writer = chunks[look.by];
    if (column < 0 || column >= chunks.length) { tell(writer, [["wrote", `${writer.tokens} tokens`]]); return; }
    tell(chunks[column], [["looked at by", writer.name], ["share", percent(look.at[column])], ["while writing", writer.text]]);
  }

  document.getElementById("map").addEventListener("pointermove", (event) => pointAtMap(event.offsetX, event.offsetY, false));
  document.getElementById("map").addEventListener("click", (event) => pointAtMap(event.offsetX, event.offsetY, true));
  document.getElementById("looks").addEventListener("pointermove", (event) => pointAtLooks(event.offsetX, event.offsetY));
  document.getElementById("shown").addEventListener("change", drawMap);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { drawMap(); drawLooks(); });
  drawMap();
  drawLooks();
  document.documentElement.dataset.drawn = String(chunks.length);
})();
