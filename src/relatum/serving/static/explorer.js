// What all pages share: light and dark, the key that leads to the question box, and parts that take a while.

const root = document.documentElement;

function switchTheme() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("relatum-theme", root.dataset.theme);
  } catch {
    // Storage is closed to us: the choice holds for this page.
  }
}

for (const button of document.querySelectorAll("button.theme")) {
  button.hidden = false;
  button.addEventListener("click", switchTheme);
}
for (const one of document.querySelectorAll("[data-scripted]")) one.hidden = false;

const isTyping = (target) => target instanceof Element && target.closest("input, textarea, select, [contenteditable]");

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const box = document.getElementById("question");
  if (!box) return;
  event.preventDefault();
  box.focus();
  box.select();
});

// The list of runs closes by Escape and by a click elsewhere.
for (const menu of document.querySelectorAll("details.switch")) {
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.open) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
}

// A section that names an address is replaced by the section of that page; where that fails, its link is still there.
// Return whether it is to be tried again: the server goes on working on what took it too long.
async function load(section) {
  const note = section.querySelector(".waiting .soft");
  section.setAttribute("aria-busy", "true");
  if (note) note.textContent = "Working on it …";
  let again = false;
  try {
    const answer = await fetch(section.dataset.load, { headers: { accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.getElementById(section.id);
    if (answer.ok && found && !found.dataset.load) {
      section.replaceWith(document.adoptNode(found));
      return false;
    }
    again = answer.status === 503;
    const message = page.querySelector(".message")?.textContent ?? "It could not be worked out.";
    if (note) note.textContent = again ? "Still working on it …" : message;
  } catch {
    if (note) note.textContent = "The server cannot be reached.";
  }
  section.removeAttribute("aria-busy");
  return again;
}

// One after the other, so that a page never takes more than its share of the server.
let waiting = [...document.querySelectorAll("[data-load]")];
for (let pause = 4000; waiting.length && pause < 100_000; pause *= 2) {
  const left = [];
  for (const section of waiting) if (await load(section)) left.push(section);
  waiting = left;
  if (waiting.length) await new Promise((resolve) => setTimeout(resolve, pause));
}
for (const section of waiting) {
  const note = section.querySelector(".waiting .soft");
  if (note) note.textContent = "It takes longer than the server allows.";
}
