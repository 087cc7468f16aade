import assert from "node:assert/strict";
import { after, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { call, ScriptedModel, say, think } from "./scripted-model.ts";
import { cost, seal } from "./scripted-providers/speech.ts";

/** The scripted servers are held to what the official clients read, so that a journey over them means something. */
const model = await ScriptedModel.start();
after(() => model.stop());

const question = { role: "user", content: "What is 6*7?" } as const;
const said = "It is worth a calculation.";
const args = { expression: "6*7" };

function speak(): void {
  model.answer(think("Arithmetic, then."), say(said), call("calculate", args), call("calculate", args));
}

test("chat completions are what OpenAI's client reads", async () => {
  speak();
  const openai = new OpenAI({ apiKey: "sk-x", baseURL: model.baseUrl });
  const stream = openai.chat.completions.stream({
    model: "scripted",
    messages: [question],
    stream_options: { include_usage: true },
  });
  const { choices, usage } = await stream.finalChatCompletion();
  assert.equal(choices[0]?.message.content, said);
  assert.equal(choices[0]?.finish_reason, "tool_calls");
  const calls = choices[0]?.message.tool_calls?.map(
    (one) => one.type === "function" && one.function.arguments,
  );
  assert.deepEqual(calls, [JSON.stringify(args), JSON.stringify(args)]);
  assert.deepEqual([usage?.prompt_tokens, usage?.completion_tokens], [cost.input, cost.output]);
});

test("responses are what OpenAI's client reads", async () => {
  speak();
  const openai = new OpenAI({ apiKey: "sk-x", baseURL: model.baseUrl });
  const response = await openai.responses
    .stream({ model: "scripted", input: "What is 6*7?" })
    .finalResponse();
  assert.equal(response.output_text, said);
  const [reasoning, , first, second] = response.output;
  assert.ok(reasoning?.type === "reasoning");
  assert.equal(reasoning.summary[0]?.text, "Arithmetic, then.");
  assert.equal(reasoning.encrypted_content, seal);
  for (const one of [first, second])
    assert.equal(one?.type === "function_call" && one.arguments, JSON.stringify(args));
  assert.equal(response.usage?.total_tokens, cost.input + cost.output);
});

test("messages are what Anthropic's client reads", async () => {
  speak();
  const anthropic = new Anthropic({ apiKey: "sk-x", baseURL: model.origin });
  const stream = anthropic.messages.stream({ model: "scripted", max_tokens: 99, messages: [question] });
  const { content, stop_reason, usage } = await stream.finalMessage();
  assert.deepEqual(
    content.map(({ type }) => type),
    ["thinking", "text", "tool_use", "tool_use"],
  );
  const [thought, text, first] = content;
  assert.ok(thought?.type === "thinking" && text?.type === "text" && first?.type === "tool_use");
  assert.deepEqual([thought.thinking, thought.signature, text.text], ["Arithmetic, then.", seal, said]);
  assert.deepEqual(first.input, args);
  assert.deepEqual([stop_reason, usage.output_tokens], ["tool_use", cost.output]);
});

test("responses of Gemini are what Google's client reads", async () => {
  speak();
  const google = new GoogleGenAI({ apiKey: "x", httpOptions: { baseUrl: model.origin } });
  const stream = await google.models.generateContentStream({ model: "scripted", contents: "What is 6*7?" });
  let [text, thought, tokens] = ["", "", 0];
  const calls: unknown[] = [];
  for await (const piece of stream) {
    for (const part of piece.candidates?.[0]?.content?.parts ?? []) {
      if (part.thought === true) thought += part.text ?? "";
      else text += part.text ?? "";
      if (part.functionCall) calls.push(part.functionCall.args);
    }
    tokens = piece.usageMetadata?.totalTokenCount ?? tokens;
  }
  assert.deepEqual([text, thought, tokens], [said, "Arithmetic, then.", cost.input + cost.output]);
  assert.deepEqual(calls, [args, args]);
});
