// Runs before the first paint, so that chosen preferences never flash others.
{
  const root = document.documentElement;
  // The values that are not the default. Without a choice of a theme the system decides, in CSS.
  const choices = {
    theme: ["light", "dark"],
    textSize: ["14", "18", "20"],
    density: ["compact"],
    sendWith: ["mod-enter"],
  };
  const apply = (name, value) => {
    if (choices[name].includes(value)) root.dataset[name] = value;
    else delete root.dataset[name];
  };
  const isKnown = (language) => language === "en" || language === "de";
  let chosen = null;
  try {
    for (const name of Object.keys(choices)) apply(name, localStorage.getItem(name));
    chosen = localStorage.getItem("language");
  } catch {
    // Storage can be forbidden; the defaults are then as good as any.
  }
  // A preference that another tab changes.
  addEventListener("storage", ({ key, newValue }) => {
    if (key in choices) apply(key, newValue);
  });

  // The bars of the browser have the color of the chosen theme, whatever that of the system is.
  const barColors = [...document.querySelectorAll("meta[name=theme-color]")].map((meta) => [
    meta,
    meta.media,
  ]);
  const colorBars = () => {
    const { theme } = root.dataset;
    for (const [meta, ofSystem] of barColors)
      meta.media = theme === undefined ? ofSystem : ofSystem.includes(theme) ? "all" : "not all";
  };
  colorBars();
  new MutationObserver(colorBars).observe(root, { attributeFilter: ["data-theme"] });

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
