// Names as they are typed into the question box: a list to choose from, by keyboard or pointer.

const box = document.getElementById("question");
const list = document.getElementById("suggestions");
const run = document.body.dataset.run;
const PAUSE = 60; // milliseconds without a key before names are fetched

let found = null; // what was suggested last
let chosen = -1;
let timer = 0;
let request = null;

// The server counts characters as Python does, the browser in units of UTF-16.
const count = (text) => Array.from(text).length;
const units = (text, characters) => Array.from(text).slice(0, characters).join("").length;

function close() {
  clearTimeout(timer);
  request?.abort();
  found = null;
  chosen = -1;
  list.hidden = true;
  list.replaceChildren();
  box.setAttribute("aria-expanded", "false");
  box.removeAttribute("aria-activedescendant");
}

function choose(index) {
  const rows = [...list.children];
  chosen = rows.length ? (index + rows.length + 1) % (rows.length + 1) : -1;
  if (chosen === rows.length) chosen = -1; // past the last row is what was typed
  rows.forEach((row, number) => row.setAttribute("aria-selected", String(number === chosen)));
  if (chosen < 0) {
    box.removeAttribute("aria-activedescendant");
    return;
  }
  box.setAttribute("aria-activedescendant", rows[chosen].id);
  rows[chosen].scrollIntoView({ block: "nearest" });
}

function take(index) {
  const match = found.matches[index];
  const start = units(box.value, found.start);
  const end = units(box.value, found.end);
  box.value = box.value.slice(0, start) + match.insert + box.value.slice(end);
  const cursor = start + match.insert.length;
  close();
  box.focus();
  box.setSelectionRange(cursor, cursor);
  if (match.kind === "relation") suggest();
}

function row(match, index) {
  const item = document.createElement("li");
  item.id = `suggestion-${index}`;
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", "false");
  const name = document.createElement("bdi");
  name.className = "name";
  name.textContent = match.label ?? match.insert;
  const kind = document.createElement("span");
  kind.className = "kind";
  kind.textContent = match.kind === "word" ? "" : `${match.kind} · ${match.facts.toLocaleString("en")}`;
  item.append(name, kind);
  // Before the box loses its focus, which closes the list.
  item.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    take(index);
  });
  return item;
}

function show(answer) {
  found = answer;
  list.replaceChildren(...answer.matches.map(row));
  list.hidden = answer.matches.length === 0;
  box.setAttribute("aria-expanded", String(!list.hidden));
  chosen = -1;
}

async function fetchNames() {
  const text = box.value;
  const wanted = new URLSearchParams({ text, cursor: count(text.slice(0, box.selectionStart ?? text.length)) });
  request?.abort();
  request = new AbortController();
  try {
    const answer = await fetch(`${run}/names.json?${wanted}`, { signal: request.signal });
    if (!answer.ok) return close();
    const names = await answer.json();
    if (box.value === text && document.activeElement === box) show(names);
  } catch (error) {
    if (error.name !== "AbortError") close();
  }
}

function suggest() {
  clearTimeout(timer);
  timer = setTimeout(fetchNames, PAUSE);
}

if (box && list && run) {
  box.addEventListener("input", suggest);
  box.addEventListener("blur", close);
  box.form.addEventListener("submit", close);
  box.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const open = !list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (open) choose(event.key === "ArrowDown" ? chosen + 1 : chosen < 0 ? list.children.length - 1 : chosen - 1);
      else if (event.key === "ArrowDown") fetchNames();
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      close();
    } else if (event.key === "Escape") {
      box.blur();
    } else if ((event.key === "Enter" || event.key === "Tab") && open && chosen >= 0) {
      event.preventDefault();
      take(chosen);
    } else if (event.key === "Tab" && open && !event.shiftKey && found.matches.length) {
      event.preventDefault();
      take(0);
    }
  });
}
