import { expect, test, vi } from "vitest";
import { QueryClient, type QueryKey } from "./query-client";

const key: QueryKey<number> = ["things", "mine"];
const ignore = () => undefined;

function client() {
  const errors: unknown[] = [];
  const queries = new QueryClient({ retry: () => false, onError: (_key, error) => errors.push(error) });
  return { queries, errors };
}

test("loads once for all who look, and tells each", async () => {
  const { queries } = client();
  const queryFn = vi.fn(async () => 1);
  const told = [vi.fn(), vi.fn()];
  for (const listener of told) queries.observe({ queryKey: key, queryFn }, listener);
  expect(queries.getState(key).isPending).toBe(true);
  await vi.waitFor(() => expect(queries.getState(key)).toMatchObject({ data: 1, isPending: false }));
  expect(queryFn).toHaveBeenCalledTimes(1);
  for (const listener of told) expect(listener).toHaveBeenCalledTimes(1);
});

test("loads again what is looked at when a part of its key is invalidated", async () => {
  const { queries } = client();
  let answer = 1;
  queries.observe({ queryKey: key, queryFn: async () => answer++ }, ignore);
  await vi.waitFor(() => expect(queries.getQueryData(key)).toBe(1));
  await queries.invalidateQueries({ queryKey: ["others"] });
  expect(queries.getQueryData(key)).toBe(1);
  await queries.invalidateQueries({ queryKey: ["things"] });
  expect(queries.getQueryData(key)).toBe(2);
});

test("an answer to a question from before an invalidation is thrown away, and asked for again only then", async () => {
  const { queries } = client();
  const late = Promise.withResolvers<number>();
  const queryFn = vi.fn().mockReturnValueOnce(late.promise).mockResolvedValue(2);
  const told = vi.fn();
  queries.observe({ queryKey: key, queryFn }, told);
  const reloaded = queries.invalidateQueries({ queryKey: key });
  expect(queryFn).toHaveBeenCalledTimes(1);
  late.resolve(1);
  await reloaded;
  expect(queries.getQueryData(key)).toBe(2);
  expect(told).toHaveBeenCalledTimes(1);
});

test("keeps what was loaded when a later load fails, and reports the failure", async () => {
  const { queries, errors } = client();
  const queryFn = vi.fn().mockResolvedValueOnce(1).mockRejectedValue(new Error("gone"));
  queries.observe({ queryKey: key, queryFn }, ignore);
  await vi.waitFor(() => expect(queries.getQueryData(key)).toBe(1));
  await queries.invalidateQueries({ queryKey: key });
  expect(queries.getState(key)).toMatchObject({
    data: 1,
    error: { message: "gone" },
    isPending: false,
  });
  expect(errors).toHaveLength(1);
});

test("loads nothing that nobody looks at, and nothing that is fresh", async () => {
  const { queries } = client();
  const queryFn = vi.fn(async () => 1);
  const leave = queries.observe({ queryKey: key, queryFn }, ignore);
  await vi.waitFor(() => expect(queries.getQueryData(key)).toBe(1));
  queries.refreshStale();
  leave();
  await queries.invalidateQueries({ queryKey: key });
  expect(queryFn).toHaveBeenCalledTimes(1);
});

test("an updater changes what is known, or leaves it", () => {
  const { queries } = client();
  queries.setQueryData(key, (before) => (before ?? 0) + 5);
  queries.setQueryData(key, () => undefined);
  expect(queries.getQueryData(key)).toBe(5);
});

test("an answer to a question from before a change does not undo it", async () => {
  const { queries } = client();
  const late = Promise.withResolvers<number>();
  const queryFn = vi.fn().mockReturnValueOnce(late.promise).mockResolvedValue(2);
  queries.observe({ queryKey: key, queryFn }, ignore);
  queries.setQueryData(key, () => 2);
  late.resolve(1);
  await vi.waitFor(() => expect(queryFn).toHaveBeenCalledTimes(2));
  expect(queries.getQueryData(key)).toBe(2);
});
