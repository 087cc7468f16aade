import axe from "axe-core";

/** Returns what axe finds wrong with an element, in light and in dark colours. */
export async function accessibilityFaults(element: Element): Promise<string[]> {
  const { dataset } = document.documentElement;
  const faults: string[] = [];
  for (const theme of ["light", "dark"]) {
    dataset["theme"] = theme;
    // Half transparent text has too little contrast.
    await Promise.all(document.getAnimations().map(({ finished }) => finished));
    const { violations } = await axe.run(element);
    faults.push(
      ...violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${theme}: ${id}: ${html}`)),
    );
  }
  delete dataset["theme"];
  return faults;
}
