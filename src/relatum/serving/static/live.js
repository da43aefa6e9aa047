// Curves of a run that is still being trained: the page is fetched again when its JSON twin has more epochs.

const EVERY = 2000; // milliseconds
let epochs = -1;

async function look() {
  const section = document.querySelector("[data-live]");
  if (!section) return;
  try {
    const answer = await fetch(`${section.dataset.live}.json`);
    if (answer.ok) {
      const state = await answer.json();
      if (state.epochs !== epochs || state.finished) {
        const page = new DOMParser().parseFromString(await (await fetch(section.dataset.live)).text(), "text/html");
        const found = page.getElementById(section.id);
        const open = section.querySelector("details")?.open;
        if (found) {
          const table = found.querySelector("details");
          if (table) table.open = open;
          section.replaceWith(document.adoptNode(found));
          document.querySelector(".lead .above")?.replaceWith(document.adoptNode(page.querySelector(".lead .above")));
          epochs = state.epochs;
        }
      }
    }
  } catch {
    // The server is not there: it may come back.
  }
  setTimeout(look, EVERY);
}

setTimeout(look, EVERY);
