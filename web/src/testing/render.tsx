import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { vi } from "vitest";
import { render, type RenderResult } from "vitest-browser-react";

/** Renders an element that loads or changes data of the server. */
export function renderWithQueries(element: ReactNode): Promise<RenderResult> {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return render(<QueryClientProvider client={client}>{element}</QueryClientProvider>);
}

/** Answers all requests of a test instead of the server; the result lists them. */
export function answerRequests(answer: (request: Request) => Response | Promise<Response>): Request[] {
  const requests: Request[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    requests.push(request.clone());
    return answer(request);
  });
  return requests;
}

/** Returns the paths of requests. */
export function pathsOf(requests: readonly Request[]): string[] {
  return requests.map(({ url }) => new URL(url).pathname);
}
