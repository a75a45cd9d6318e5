#!/usr/bin/env python3
"""An agent that speaks Claude's control channel, well or badly: claude -p ... behaves as $ODD says.

    good        asks about each call, obeys, answers
    unasked     tells of a call's result that nobody was asked about
    disobeys    runs what was denied
    early       begins before the hook was taken
    refuses     does not take the hook
    mode        is in another permission mode than it was started in
    server      has started a server of its own
    helper      has its key from a helper
    unheard     says that a hook was not answered
    garbage     writes something that is no JSON
    long        writes a line that does not end
    silent      ends without an answer
    fails       ends with status 3 and an error result
    aborted     ends with status 0 and an error result, as after an interrupt
    talks       says so much that a slow reader holds it up
    waits       asks about a call with the command of $ODD_COMMAND
    withdraws   asks, does not wait, and ends
"""
import json
import os
import sys

ODD = os.environ.get("ODD", "good")
MODE = [w.split("=")[1] for w in sys.argv if w.startswith("--permission-mode=")][0]


def say(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(9)
    return json.loads(line)


def init(**over):
    what = dict(type="system", subtype="init", cwd=os.getcwd(), permissionMode=MODE,
                apiKeySource="ANTHROPIC_API_KEY", mcp_servers=[])
    what.update(over)
    say(**what)


def ask(use, tool, **tool_input):
    say(type="control_request", request_id="r" + use, request=dict(
        subtype="hook_callback", callback_id="agate", input=dict(
            hook_event_name="PreToolUse", cwd=os.getcwd(), tool_name=tool, tool_input=tool_input,
            tool_use_id=use)))


def answer():
    return hear()["response"]["response"]["hookSpecificOutput"]["permissionDecision"]


def result_of(use, text, **more):
    say(type="user", message=dict(role="user", content=[
        dict(dict(type="tool_result", tool_use_id=use, content=text), **more)]))


def done(text="Done."):
    say(type="result", subtype="success", is_error=False, result=text)
    sys.stdin.read()
    sys.exit(0)


def call(use, command):
    ask(use, "Bash", command=command)
    word = answer()
    if word == "allow":
        os.system(command)
        result_of(use, "ran")
    else:
        result_of(use, "denied", is_error=True)
    return word


def greet():
    greeting = hear()
    hooks = greeting["request"]["hooks"]["PreToolUse"]
    assert greeting["request"]["subtype"] == "initialize" and hooks[0]["matcher"] == "*", greeting
    if ODD == "early":
        init()
    say(type="control_response", response=dict(
        subtype="error" if ODD == "refuses" else "success", request_id=greeting["request_id"], response={}))
    return hear()["message"]["content"]


def main():
    prompt = greet()
    init(**{"mode": dict(permissionMode="acceptEdits"), "helper": dict(apiKeySource="apiKeyHelper"),
            "server": dict(mcp_servers=[dict(name="x", status="connected")])}.get(ODD, {}))
    if ODD == "unasked":
        result_of("t1", "ran")
    elif ODD == "disobeys":
        ask("t1", "Bash", command="sudo id")
        answer()
        result_of("t1", "ran")
    elif ODD == "unheard":
        say(type="system", subtype="informational", tag="hook_no_verdict")
    elif ODD == "garbage":
        print("oops", flush=True)
    elif ODD == "long":
        while True:
            sys.stdout.write("x" * 65536)
    elif ODD == "silent":
        sys.exit(0)
    elif ODD == "fails":
        say(type="result", subtype="error_max_turns", is_error=True, errors=["Reached max turns (1)"])
        sys.exit(3)
    elif ODD == "aborted":
        say(type="result", subtype="error_during_execution", is_error=True, errors=["aborted"])
        sys.stdin.read()
        sys.exit(0)
    elif ODD == "talks":
        for _ in range(200):
            say(type="assistant", message=dict(content=[dict(type="text", text="x" * 10000)]))
    elif ODD == "withdraws":
        ask("t1", "Bash", command=os.environ["ODD_COMMAND"])
        say(type="control_cancel_request", request_id="rt1")
    elif ODD == "waits":
        done("%s: %s" % (os.environ["ODD_COMMAND"], call("t1", os.environ["ODD_COMMAND"])))
    else:
        words = [call("t1", "echo by the agent >new.txt"), call("t2", "sudo id")]
        done("prompt %r, answers %s" % (prompt, words))
    done()


main()
