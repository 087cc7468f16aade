// Runs before the first paint, so that a chosen theme and language never flash others.
{
  const root = document.documentElement;
  const isKnown = (language) => language === "en" || language === "de";
  let chosen = null;
  try {
    const theme = localStorage.getItem("theme");
    // Without a choice the system decides, in CSS.
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    chosen = localStorage.getItem("language");
  } catch {
    // Storage can be forbidden; the system's settings are then as good as any.
  }
  if (isKnown(chosen)) root.dataset.language = chosen;
  else chosen = navigator.languages.map((tag) => tag.toLowerCase().split("-")[0]).find(isKnown) ?? "en";
  root.lang = chosen;

  // Requests the texts beside the scripts that show them. The build names the files.
  const texts = document.currentScript.dataset[chosen];
  if (texts !== undefined) {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.href = texts;
    document.head.append(link);
  }
}
