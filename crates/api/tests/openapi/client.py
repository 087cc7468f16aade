"""The official client for Python against the door."""

import json
import traceback

import openai

TOOL = {
    "type": "function",
    "function": {"name": "clock", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}},
}
QUESTION = {"role": "user", "content": "What time is it?"}
MODEL = "openai/scripted"


def lists_models(client):
    assert [model.id for model in client.models.list()] == [MODEL, f"{MODEL}:tools"]


def answers(client):
    answer = client.chat.completions.create(model="default", messages=[QUESTION])
    assert answer.choices[0].message.content == "Hello."
    assert answer.choices[0].finish_reason == "stop"


def streams(client):
    with client.chat.completions.stream(model=MODEL, messages=[QUESTION]) as stream:
        kinds = {event.type for event in stream}
        answer = stream.get_final_completion()
    assert "content.delta" in kinds
    assert answer.choices[0].message.content == "Hello."


def calls_tools(client):
    messages = [QUESTION]
    with client.chat.completions.stream(model=MODEL, messages=messages, tools=[TOOL]) as stream:
        message = stream.get_final_completion().choices[0].message
    calls = message.tool_calls
    assert [call.function.name for call in calls] == ["clock", "clock"]
    assert [json.loads(call.function.arguments) for call in calls] == [{"zone": "UTC"}, {"zone": "CET"}]
    messages.append(message.model_dump(include={"role", "content", "tool_calls"}))
    messages += [{"role": "tool", "tool_call_id": call.id, "content": "noon"} for call in calls]
    answer = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL])
    assert answer.choices[0].message.content == "Hello."


def knows_refusals(client):
    try:
        client.chat.completions.create(model="nobody/nothing", messages=[QUESTION])
    except openai.NotFoundError as error:
        assert error.code == "model_not_found"
    else:
        raise AssertionError("it was not refused")
    stranger = client.with_options(api_key="sk-chat-nobodys")
    try:
        stranger.models.list()
    except openai.AuthenticationError as error:
        assert error.code == "invalid_api_key"
    else:
        raise AssertionError("it was not refused")


def check(url, key):
    """Runs all of it; returns how many passed and failed."""
    client = openai.OpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0)
    counts = [0, 0]
    print("\n== client", flush=True)
    for work in (lists_models, answers, streams, calls_tools, knows_refusals):
        try:
            work(client)
            counts[0] += 1
        except Exception:
            print(f"{work.__name__}:")
            traceback.print_exc()
            counts[1] += 1
    return tuple(counts)
