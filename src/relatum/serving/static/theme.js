// Before anything is drawn: the theme that was chosen last, if one was.
(() => {
  try {
    const chosen = localStorage.getItem("relatum-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage is closed to us: the system's theme it is.
  }
})();
