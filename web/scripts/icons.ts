/** Draws `public/icon.svg` as the PNG files that the web manifest and `index.html` name. `CHROMIUM` names the browser. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

interface Icon {
  name: string;
  size: number;
  /** True if the icon fills its square, which the system then cuts to its own shape. */
  isFull: boolean;
}

const icons: readonly Icon[] = [
  { name: "icon-192", size: 192, isFull: false },
  { name: "icon-512", size: 512, isFull: false },
  { name: "icon-maskable-512", size: 512, isFull: true },
  { name: "apple-touch-icon", size: 180, isFull: true },
];

const folder = join(import.meta.dirname, "../public");
const svg = readFileSync(join(folder, "icon.svg"), "utf8");
const executablePath = process.env["CHROMIUM"];
const browser = await chromium.launch(executablePath === undefined ? {} : { executablePath });
const page = await browser.newPage();
for (const { name, size, isFull } of icons) {
  await page.setViewportSize({ width: size, height: size });
  const drawn = isFull ? svg.replace(/ rx="\d+"/u, "") : svg;
  await page.setContent(`<style>body { margin: 0 } svg { display: block; width: 100vw }</style>${drawn}`);
  writeFileSync(join(folder, `${name}.png`), await page.screenshot({ omitBackground: true }));
}
await browser.close();
