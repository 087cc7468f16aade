import { type QueryKey, QueryObserver } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { ApiError } from "./api-error";
import { UserQueryClient } from "./user-queries";

const queryKey: QueryKey = ["things", "mine"];

function observe(queries: UserQueryClient, queryFn: () => Promise<number>): () => void {
  return new QueryObserver(queries, { queryKey, queryFn, retryDelay: 0 }).subscribe(() => undefined);
}

test("a first load from before an invalidation is thrown away and asked again", async () => {
  const queries = new UserQueryClient();
  const late = Promise.withResolvers<number>();
  const queryFn = vi.fn().mockReturnValueOnce(late.promise).mockResolvedValue(2);
  observe(queries, queryFn);
  const reloaded = queries.invalidateQueries({ queryKey: ["things"] });
  late.resolve(1);
  await reloaded;
  expect(queries.getQueryData(queryKey)).toBe(2);
  expect(queryFn).toHaveBeenCalledTimes(2);
});

test("a load from before a change does not undo the change", async () => {
  const queries = new UserQueryClient();
  const late = Promise.withResolvers<number>();
  const queryFn = vi.fn().mockReturnValueOnce(late.promise).mockResolvedValue(2);
  observe(queries, queryFn);
  queries.setQueryData(queryKey, 2);
  late.resolve(1);
  await vi.waitFor(() => expect(queryFn).toHaveBeenCalledTimes(2));
  await vi.waitFor(() => expect(queries.isFetching()).toBe(0));
  expect(queries.getQueryData(queryKey)).toBe(2);
});

test("invalidation loads nothing that nobody looks at", async () => {
  const queries = new UserQueryClient();
  const queryFn = vi.fn(async () => 1);
  const leave = observe(queries, queryFn);
  await vi.waitFor(() => expect(queries.getQueryData(queryKey)).toBe(1));
  leave();
  await queries.invalidateQueries({ queryKey });
  expect(queryFn).toHaveBeenCalledTimes(1);
});

test.each([
  [403, 1],
  [429, 3],
  [503, 3],
])("a load refused with %i is tried %i times in all", async (status, attempts) => {
  const log = vi.spyOn(console, "error").mockReturnValue();
  const queries = new UserQueryClient();
  const queryFn = vi.fn().mockRejectedValue(new ApiError("no", status));
  observe(queries, queryFn);
  await vi.waitFor(() => expect(log).toHaveBeenCalledTimes(1));
  expect(queryFn).toHaveBeenCalledTimes(attempts);
});
