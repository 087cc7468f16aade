import { afterEach, expect, test } from "vitest";
import { ScrollController } from "./scroll-controller";

const NO_EVENTS = {
  onState: () => undefined,
  onNearStart: () => undefined,
  onNearEnd: () => undefined,
};
const lines = (from: number, to: number) =>
  Array.from(
    { length: to - from },
    (_, at) => `<p id="line-${from + at}" style="height:20px;margin:0">Line</p>`,
  ).join("");

let disconnect: (() => void) | undefined;
afterEach(() => {
  disconnect?.();
  document.body.replaceChildren();
});

/** Shows one long message in a window of 200 px and scrolls to a distance from its start. */
async function read(message: string, top: number): Promise<void> {
  document.body.innerHTML = `<div id="scroller" style="height:200px;overflow-y:auto;overflow-anchor:none">
    <div id="rows"><article><div id="picture"></div>${message}</article></div><div id="room"></div>
  </div>`;
  const controller = new ScrollController(find("scroller"), find("rows"), find("room"), NO_EVENTS);
  disconnect = controller.connect();
  await frames();
  find("scroller").scrollTop = top;
  await frames();
}

function find(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`There is no ${id}.`);
  return element;
}

const frames = () =>
  new Promise((resolve) =>
    requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
const topOf = (id: string) => find(id).getBoundingClientRect().top;

async function pictureArrives(): Promise<void> {
  find("picture").style.height = "150px";
  await frames();
}

test("keeps a line of a message where it is when the message grows above", async () => {
  await read(lines(0, 60), 410);
  const before = topOf("line-25");
  await pictureArrives();
  expect(topOf("line-25")).toBe(before);
});

test("keeps a line below a sticky heading", async () => {
  const heading = `<h4 id="heading" style="position:sticky;top:0;height:20px;margin:0">Heading</h4>`;
  await read(`<section>${heading}${lines(0, 60)}</section>`, 410);
  const before = topOf("line-25");
  await pictureArrives();
  expect(topOf("line-25")).toBe(before);
});

test("is not misled by a box that was scrolled by itself", async () => {
  const box = `<div id="box" style="height:300px;overflow-y:auto">${lines(0, 40)}</div>`;
  await read(`${lines(40, 60)}${box}${lines(60, 80)}`, 410);
  find("box").scrollTop = 120;
  const before = topOf("line-60");
  await pictureArrives();
  expect(topOf("line-60")).toBe(before);
});

test.each([
  ["removed", (line: HTMLElement) => line.remove()],
  ["hidden", (line: HTMLElement) => line.style.setProperty("display", "none")],
])("keeps the container of a line that was %s", async (_, act) => {
  await read(`${lines(0, 10)}<section id="section">${lines(10, 60)}</section>`, 410);
  const before = topOf("section");
  act(find("line-20"));
  await frames();
  expect(topOf("section")).toBe(before);
});

test("shows the end of a message that grows while its end is read", async () => {
  await read(lines(0, 60), 0);
  find("scroller").scrollTop = find("scroller").scrollHeight;
  await frames();
  await pictureArrives();
  const { scrollTop, clientHeight, scrollHeight } = find("scroller");
  expect(scrollTop + clientHeight).toBe(scrollHeight);
});
