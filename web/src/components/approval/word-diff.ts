/** Run of words that both texts have, or only one of them. */
export interface DiffRun {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Larger tables of words are not compared: the middle of the texts is shown as replaced. */
const MAX_TABLE_CELLS = 1_000_000;

/** Compares two texts word by word and returns the runs of the new text, with what was removed before what was added. */
export function diffWords(before: string, now: string): DiffRun[] {
  const old = wordsOf(before);
  const fresh = wordsOf(now);
  const shortest = Math.min(old.length, fresh.length);
  let start = 0;
  while (start < shortest && old[start] === fresh[start]) start++;
  let end = 0;
  while (end < shortest - start && old.at(-1 - end) === fresh.at(-1 - end)) end++;
  const runs = new RunList();
  for (const word of fresh.slice(0, start)) runs.add("same", word);
  addChanged(runs, old.slice(start, old.length - end), fresh.slice(start, fresh.length - end));
  for (const word of fresh.slice(fresh.length - end)) runs.add("same", word);
  return runs.all();
}

/** Splits a text into words, spaces and single other characters. */
function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{M}\p{N}_]+|\s+|./gsu) ?? [];
}

function addChanged(runs: RunList, old: readonly string[], fresh: readonly string[]): void {
  const common = old.length * fresh.length > MAX_TABLE_CELLS ? undefined : commonLengths(old, fresh);
  const width = fresh.length + 1;
  let [from, to] = [0, 0];
  while (common !== undefined && from < old.length && to < fresh.length) {
    if (old[from] === fresh[to]) {
      runs.add("same", fresh[to] ?? "");
      from++;
      to++;
    } else if ((common[(from + 1) * width + to] ?? 0) >= (common[from * width + to + 1] ?? 0)) {
      runs.add("removed", old[from++] ?? "");
    } else {
      runs.add("added", fresh[to++] ?? "");
    }
  }
  for (const word of old.slice(from)) runs.add("removed", word);
  for (const word of fresh.slice(to)) runs.add("added", word);
}

/** Returns the length of the longest common subsequence of every pair of ends, row by row. */
function commonLengths(old: readonly string[], fresh: readonly string[]): Uint32Array {
  const width = fresh.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  for (let from = old.length - 1; from >= 0; from--) {
    for (let to = fresh.length - 1; to >= 0; to--) {
      const below = (from + 1) * width + to;
      lengths[from * width + to] =
        old[from] === fresh[to]
          ? (lengths[below + 1] ?? 0) + 1
          : Math.max(lengths[below] ?? 0, lengths[from * width + to + 1] ?? 0);
    }
  }
  return lengths;
}

/** Collects words and joins those of one kind. Between two common words, removed ones come before added ones. */
class RunList {
  readonly #runs: DiffRun[] = [];
  #removed = "";
  #added = "";

  add(kind: DiffRun["kind"], word: string): void {
    if (kind === "removed") this.#removed += word;
    else if (kind === "added") this.#added += word;
    else this.#addSame(word);
  }

  #addSame(word: string): void {
    this.#closeChange();
    const last = this.#runs.at(-1);
    if (last?.kind === "same") this.#runs[this.#runs.length - 1] = { kind: "same", text: last.text + word };
    else this.#runs.push({ kind: "same", text: word });
  }

  #closeChange(): void {
    if (this.#removed !== "") this.#runs.push({ kind: "removed", text: this.#removed });
    if (this.#added !== "") this.#runs.push({ kind: "added", text: this.#added });
    this.#removed = "";
    this.#added = "";
  }

  all(): DiffRun[] {
    this.#closeChange();
    return this.#runs;
  }
}
