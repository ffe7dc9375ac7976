"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const lists = all(".list");
  if (!lists.length) return;

  // Rows stay where they are folded: the first ones of a list above, the others below.
  const ordered = (list, rows) => {
    const bodies = all("tbody", list), most = bodies[0].rows.length;
    rows.forEach((row, place) => bodies[place < most ? 0 : 1].append(row));
  };
  const value = (row, place) => {
    const cell = row.cells[place];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim().toLowerCase();
  };
  const compared = (one, other) => typeof one === "number" ? one - other : one.localeCompare(other);

  for (const list of lists) {
    const heads = all("thead th", list), columns = all("table", list)[0]?.tHead.rows[0].cells.length;
    heads.forEach((head, index) => {
      const place = index % columns;
      if (head.classList.contains("unsorted")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const numbers = head.classList.contains("number");
        const before = head.getAttribute("aria-sort");
        const way = before ? (before === "ascending" ? "descending" : "ascending") : numbers ? "descending" : "ascending";
        const sign = way === "ascending" ? 1 : -1;
        const rows = all("tbody tr", list).map(row => [value(row, place), row]);
        rows.sort((one, other) => sign * compared(one[0], other[0]));
        ordered(list, rows.map(pair => pair[1]));
        heads.forEach((each, at) => {
          if (at % columns === place) each.setAttribute("aria-sort", way);
          else each.removeAttribute("aria-sort");
        });
      });
    });
  }

  const tools = document.createElement("div"), label = document.createElement("label");
  const field = document.createElement("input"), status = document.createElement("span");
  tools.className = "tools";
  tools.setAttribute("role", "search");
  field.type = "search";
  field.id = "search";
  field.autocomplete = "off";
  label.htmlFor = "search";
  label.textContent = "Find items";
  status.setAttribute("role", "status");
  status.className = "note";
  tools.append(label, field, status);
  document.querySelector("main").prepend(tools);
  document.documentElement.classList.add("live");

  const plain = text => text.normalize("NFKC").toLowerCase();
  const rows = all(".list tbody tr, .list li").map(row => [row, plain(all(".chip", row).map(x => x.textContent).join(" "))]);
  field.addEventListener("input", () => {
    const words = plain(field.value).split(/\s+/).filter(Boolean);
    let found = 0;
    for (const [row, names] of rows) {
      row.hidden = !words.every(word => names.includes(word));
      found += !row.hidden;
    }
    for (const more of all("details.more, details.less")) more.open = words.length > 0;
    for (const list of lists) list.hidden = all("tbody tr, li", list).every(row => row.hidden);
    status.textContent = words.length ? `${found} of ${rows.length} rows` : "";
  });

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    opened.forEach(each => { each.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach(each => { each.open = false; }));
})();
