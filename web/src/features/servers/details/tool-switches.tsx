import { Check } from "lucide-react";
import { useState } from "react";
import type { ToolDefinition } from "@/lib/available-tool";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { Input } from "@/ui/field";
import type { ServerConnection } from "../server-connection";
import { useChange } from "../use-connections";
import { Section } from "./section";

/** Number of tools from which on there is a search field. */
const SEARCH_MIN_TOOLS = 12;
/** Number of tools shown at once. */
const MAX_SHOWN_TOOLS = 100;

interface ToolSwitchesProps {
  userId: string;
  connection: ServerConnection;
}

interface PendingSwitch {
  readonly name: string;
  readonly isOn: boolean;
}

/** Switches for the tools of a connection, with the size of each in tokens. */
export function ToolSwitches({ userId, connection }: ToolSwitchesProps) {
  const { id, tools, disabledTools } = connection;
  const change = useChange(userId, id);
  const [query, setQuery] = useState("");
  // A switch shows what the user chose until the server has answered, whatever states arrive meanwhile.
  const [pending, setPending] = useState<readonly PendingSwitch[]>([]);
  const isOn = (name: string) =>
    pending.findLast((other) => other.name === name)?.isOn ?? !disabledTools.includes(name);
  const found = tools.filter(({ name }) => name.toLowerCase().includes(query.trim().toLowerCase()));
  const on = tools.filter(({ name }) => isOn(name));
  const weight = on.reduce((sum, tool) => sum + estimateTokens(tool), 0);

  async function flip(chosen: PendingSwitch): Promise<void> {
    setPending((before) => [...before, chosen]);
    try {
      await change.mutateAsync({ tools: { [chosen.name]: chosen.isOn } });
    } catch {
      // The mutation has shown the error.
    }
    setPending((before) => before.filter((other) => other !== chosen));
  }

  if (tools.length === 0) return null;
  const about = t("servers.weight", { on: on.length, n: tools.length, tokens: weight });
  return (
    <Section title={t("servers.tools")} about={about}>
      {tools.length >= SEARCH_MIN_TOOLS && (
        <div className="border-b border-line p-2">
          <Input
            type="search"
            aria-label={t("servers.findTool")}
            placeholder={t("servers.findTool")}
            value={query}
            onChange={(event) => setQuery(event.target.value)}
          />
        </div>
      )}
      <ul className="max-h-80 divide-y divide-line overflow-auto">
        {found.slice(0, MAX_SHOWN_TOOLS).map((tool) => (
          <li key={tool.name}>
            <label className="relative flex min-h-10 items-center gap-3 px-4 py-2 touch:min-h-11">
              <input
                type="checkbox"
                className="peer absolute inset-0 size-full opacity-0"
                checked={isOn(tool.name)}
                onChange={(event) => void flip({ name: tool.name, isOn: event.target.checked })}
              />
              <span
                aria-hidden="true"
                className="grid size-4 shrink-0 place-items-center rounded-[5px] border border-line-strong text-transparent transition-colors duration-150 peer-checked:border-transparent peer-checked:bg-accent peer-checked:text-paper peer-focus-visible:outline-2 peer-focus-visible:outline-offset-2 peer-focus-visible:outline-accent [&_svg]:size-3"
              >
                <Check strokeWidth={3} />
              </span>
              <span className="min-w-0 flex-1 font-mono text-sm wrap-anywhere">
                {showInvisible(tool.name)}
              </span>
              <span className="text-xs whitespace-nowrap text-ink-2 tabular-nums">
                {t("servers.tokens", { n: estimateTokens(tool) })}
              </span>
            </label>
          </li>
        ))}
        {found.length > MAX_SHOWN_TOOLS && (
          <li className="px-4 py-3 text-sm text-ink-2">
            {t("servers.switches.more", { n: found.length - MAX_SHOWN_TOOLS })}
          </li>
        )}
      </ul>
    </Section>
  );
}

/** Approximate bytes of JSON per token. */
const BYTES_PER_TOKEN = 4;

const encoder = new TextEncoder();

/** Estimates the number of tokens that a tool's definition takes in each model call. */
export function estimateTokens({ name, description, inputSchema }: ToolDefinition): number {
  const told = JSON.stringify({ name, description: description ?? "", input_schema: inputSchema ?? {} });
  return Math.ceil(encoder.encode(told).length / BYTES_PER_TOKEN);
}
