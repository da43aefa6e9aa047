// Going through predicted facts: j and k move, a accepts, r rejects, u undoes; buttons do the same.

const announcement = document.getElementById("announcement");
const rows = () => [...document.querySelectorAll("[data-review]")];
const current = () => document.querySelector("[data-review].current");

function go(row) {
  if (!row) return;
  current()?.classList.remove("current");
  row.classList.add("current");
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function step(way) {
  const all = rows();
  const index = all.indexOf(current());
  go(all[index < 0 ? 0 : Math.min(Math.max(index + way, 0), all.length - 1)]);
}

// The form goes to the server as it would without a script, which answers with the page; only the row is taken from it.
async function send(form, button) {
  const row = form.closest("[data-review]");
  const body = new URLSearchParams(new FormData(form, button));
  for (const one of form.querySelectorAll("button")) one.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body });
    const text = await answer.text();
    const page = new DOMParser().parseFromString(text, "text/html");
    if (!answer.ok) throw new Error(JSON.parse(text).error);
    const found = [...page.querySelectorAll("[data-review]")].find((one) => one.dataset.review === row.dataset.review);
    const moved = row.classList.contains("current");
    const next = rows()[rows().indexOf(row) + 1];
    if (found) {
      row.replaceWith(document.adoptNode(found));
      if (moved) go(body.get("verdict") === "undo" || !next ? found : next);
    } else {
      row.remove();
      if (moved) go(next);
    }
    const names = [...row.querySelectorAll('[href*="/entity"]')].map((one) => one.textContent);
    announcement.textContent = `${button.textContent}: ${names.join(", ")}`;
  } catch (error) {
    for (const one of form.querySelectorAll("button")) one.disabled = false;
    announcement.textContent = error.message;
    announcement.classList.remove("aloud");
    announcement.classList.add("message", "wrong");
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form.decide");
  if (!form || !event.submitter) return;
  event.preventDefault();
  send(form, event.submitter);
});

document.addEventListener("click", (event) => {
  const row = event.target.closest("[data-review]");
  if (row && !event.target.closest("a, button, summary")) go(row);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (event.key === "j" || event.key === "k") {
    event.preventDefault();
    step(event.key === "j" ? 1 : -1);
    return;
  }
  const button = current()?.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  if (button && !button.disabled) {
    event.preventDefault();
    button.click();
  }
});
