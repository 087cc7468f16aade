import { useRef, useState } from "react";

interface MutationOptions<Input, Output> {
  mutationFn: (input: Input) => Promise<Output>;
  onSuccess?: (output: Output, input: Input) => unknown;
  onError?: (error: Error) => void;
}

type MutationState<Output> =
  | { status: "idle" | "pending"; data: undefined; error: undefined }
  | { status: "success"; data: Output; error: undefined }
  | { status: "error"; data: undefined; error: Error };

/** An act that changes something on the server, and where it stands. */
export function useMutation<Output, Input = void>(options: MutationOptions<Input, Output>) {
  const [state, setState] = useState<MutationState<Output>>({
    status: "idle",
    data: undefined,
    error: undefined,
  });
  const latest = useRef(0);

  async function run(input: Input): Promise<void> {
    const turn = ++latest.current;
    // A newer act owns the state; an older one that ends later only runs its callbacks.
    const settle = (next: MutationState<Output>) => latest.current === turn && setState(next);
    settle({ status: "pending", data: undefined, error: undefined });
    let output: Output;
    try {
      output = await options.mutationFn(input);
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      settle({ status: "error", data: undefined, error });
      options.onError?.(error);
      return;
    }
    // What follows from the success belongs to the act: it stays pending until that is done.
    await options.onSuccess?.(output, input);
    settle({ status: "success", data: output, error: undefined });
  }

  return {
    ...state,
    isPending: state.status === "pending",
    mutate: (input: Input) => void run(input),
  };
}
