"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const lists = all(".list");
  const rows = all(".list tbody tr, .list li, .multiple, .card").map(row => [row, all(".chip", row).map(chip => chip.textContent.trim())]);
  if (!rows.length) return;

  // Rows stay where they are folded: the first ones of a list above, the others below.
  const ordered = (list, rows) => {
    const bodies = all("tbody", list), most = bodies[0].rows.length;
    rows.forEach((row, place) => bodies[place < most ? 0 : 1].append(row));
  };
  const value = (row, place) => {
    const cell = row.cells[place];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim().toLowerCase();
  };
  const compared = (first, second) => typeof first === "number" ? first - second : first.localeCompare(second);
  const opposite = {ascending: "descending", descending: "ascending"};

  for (const list of lists) {
    const heads = all("thead th", list), columns = all("table", list)[0]?.tHead.rows[0].cells.length;
    heads.forEach((head, index) => {
      const place = index % columns;
      if (head.classList.contains("unsorted")) return;
      const button = document.createElement("button");
      button.type = "button";
      // In print a head is repeated on each page, but no button in it.
      const printed = Object.assign(document.createElement("span"), {className: "printed", textContent: head.textContent});
      button.append(...head.childNodes);
      head.append(button, printed);
      button.addEventListener("click", () => {
        const usual = head.classList.contains("number") ? "descending" : "ascending";
        const way = opposite[head.getAttribute("aria-sort")] ?? usual;
        const sign = way === "ascending" ? 1 : -1;
        const rows = all("tbody tr", list).map(row => [value(row, place), row]);
        rows.sort((first, second) => sign * compared(first[0], second[0]));
        ordered(list, rows.map(pair => pair[1]));
        heads.forEach((each, at) => {
          if (at % columns === place) each.setAttribute("aria-sort", way);
          else each.removeAttribute("aria-sort");
        });
      });
    });
  }

  const made = (tag, properties) => Object.assign(document.createElement(tag), properties);
  const tools = made("div", {className: "tools"});
  const field = made("input", {type: "search", id: "search", autocomplete: "off"});
  const choice = made("select", {id: "choice"});
  const everything = made("button", {type: "button", textContent: "Show everything", hidden: true});
  const status = made("span", {className: "note"});
  tools.setAttribute("role", "search");
  status.setAttribute("role", "status");
  const items = [...new Set(rows.flatMap(pair => pair[1]))].sort((first, second) => first.localeCompare(second));
  choice.append(...["", ...items].map(item => made("option", {value: item, textContent: item || "all items"})));
  tools.append(
    made("label", {htmlFor: "choice", textContent: "What goes with"}), choice,
    made("label", {htmlFor: "search", textContent: "Find items"}), field, everything, status);
  document.querySelector("main").prepend(tools);
  document.documentElement.classList.add("live");

  // What is hidden beside the rows: what stands around them, if none of them is left.
  const show = (hides, fits) => {
    for (const [row, names] of rows) row.hidden = !fits(names);
    const counted = rows.map(pair => pair[0]).filter(row => !row.matches(".card"));
    const found = counted.filter(row => !row.hidden).length;
    for (const fold of all("details.more, details.less")) fold.open = hides || fold.dataset.open === "yes";
    const isEmpty = (place, inside) => all(inside, place).every(row => row.hidden);
    for (const list of lists) list.hidden = isEmpty(list, "tbody tr, li");
    for (const place of all(".cards, .multiples")) place.hidden = hides && isEmpty(place, ".card, .multiple");
    for (const place of all("details.more")) place.hidden = hides && isEmpty(place, "tbody tr, li");
    for (const place of all("details.less")) place.hidden = hides && all(".list, .multiples", place).every(each => each.hidden);
    status.textContent = hides ? `${found} of ${counted.length} rows` : "";
    everything.hidden = !hides;
  };
  for (const fold of all("details.less")) fold.dataset.open = fold.open ? "yes" : "no";

  // One item: the address keeps it, so that it can be sent and found again.
  const inAddress = () => {
    const [name, text] = location.hash.split(/=(.*)/s);
    if (name !== "#item" || !text) return "";
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const choose = () => {
    const item = inAddress();
    field.value = "";
    choice.value = items.includes(item) ? item : "";
    show(item !== "", names => !item || names.includes(item));
    for (const place of all(".lead, .picture, .contents")) place.hidden = item !== "";
  };
  const go = item => { location.hash = item ? `item=${encodeURIComponent(item)}` : "all"; };
  choice.addEventListener("change", () => go(choice.value));
  everything.addEventListener("click", () => { go(""); choose(); });
  addEventListener("hashchange", choose);
  for (const [row] of rows) {
    for (const chip of all(".chip", row)) chip.addEventListener("click", () => go(chip.textContent.trim()));
  }

  const plain = text => text.normalize("NFKC").toLowerCase();
  field.addEventListener("input", () => {
    const exact = items.find(item => plain(item) === plain(field.value.trim()));
    if (exact !== undefined && field.value.trim()) { choice.value = exact; }
    const words = plain(field.value).split(/\s+/).filter(Boolean);
    show(words.length > 0, names => words.every(word => plain(names.join(" ")).includes(word)));
  });
  field.addEventListener("change", () => {
    const exact = items.find(item => plain(item) === plain(field.value.trim()));
    if (exact) go(exact);
  });
  if (inAddress()) choose();

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    opened.forEach(each => { each.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach(each => { each.open = false; }));
})();
