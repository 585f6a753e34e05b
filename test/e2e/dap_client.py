"""A client of the Debug Adapter Protocol, as an editor is one: for the tests of `pmixhost debug --dap`. Every message
that comes is held against what the protocol's specification says of its kind."""
import json
import queue
import subprocess
import threading

PATIENCE = 90

# Of events and responses, what they have to have.
EVENTS = {
    "initialized": {}, "terminated": {},
    "stopped": {"reason": str, "threadId": int},
    "continued": {"threadId": int},
    "exited": {"exitCode": int},
    "thread": {"reason": str, "threadId": int},
    "output": {"output": str, "category": str},
}
RESPONSES = {
    "threads": {"threads": list}, "stackTrace": {"stackFrames": list}, "scopes": {"scopes": list},
    "variables": {"variables": list}, "evaluate": {"result": str, "variablesReference": int},
    "setBreakpoints": {"breakpoints": list}, "setFunctionBreakpoints": {"breakpoints": list},
    "completions": {"targets": list},
}


class Refused(Exception):
    pass


def check(body, wanted, what):
    for name, kind in wanted.items():
        if not isinstance(body.get(name), kind):
            raise AssertionError("%s: %r is no %s in %r" % (what, name, kind.__name__, body))


class Dap:
    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.messages = queue.Queue()
        self.seq = 0
        self.last_seq = 0
        self.events = []   # that nobody has waited for yet
        self.outputs = ""  # "stdout" of what was launched
        self.console = ""
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        stream = self.process.stdout
        while True:
            length = None
            while True:
                line = stream.readline()
                if not line:
                    self.messages.put(None)
                    return
                if line == b"\r\n":
                    break
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            self.messages.put(json.loads(stream.read(length)))

    def take(self, patience=PATIENCE):
        """The next message; events are kept."""
        message = self.messages.get(timeout=patience)
        if message is None:
            raise EOFError("the adapter has ended")
        if message["seq"] <= self.last_seq:
            raise AssertionError("numbers do not rise: %r" % message)
        self.last_seq = message["seq"]
        if message["type"] == "event":
            check(message["body"], EVENTS[message["event"]], message["event"])
            if message["event"] == "output":
                if message["body"]["category"] == "stdout":
                    self.outputs += message["body"]["output"]
                else:
                    self.console += message["body"]["output"]
            else:
                self.events.append(message)
        return message

    def send(self, command, **arguments):
        self.seq += 1
        text = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()
        return self.seq

    def answer_to(self, seq):
        while True:
            message = self.take()
            if message["type"] == "response" and message["request_seq"] == seq:
                if not message["success"]:
                    raise Refused(message["message"])
                check(message.get("body", {}), RESPONSES.get(message["command"], {}), message["command"])
                return message.get("body", {})

    def ask(self, command, **arguments):
        return self.answer_to(self.send(command, **arguments))

    def refusal(self, command, **arguments):
        try:
            return "answered: %r" % self.ask(command, **arguments)
        except Refused as why:
            return str(why)

    def event(self, name, **wanted):
        """The first event of that name with these in its body that has not been taken."""
        while True:
            for event in self.events:
                if event["event"] == name and all(event["body"].get(k) == v for k, v in wanted.items()):
                    self.events.remove(event)
                    return event["body"]
            self.take()

    def stops(self, reason, ranks):
        """A stop for this reason of each of these ranks: the thread that did, by rank."""
        threads = {}
        while set(threads) != set(ranks):
            body = self.event("stopped", reason=reason)
            threads[self.rank_of(body["threadId"])] = body["threadId"]
        return threads

    def rank_of(self, thread):
        for one in self.ask("threads")["threads"]:
            if one["id"] == thread:
                return int(one["name"].split()[1].rstrip(",:"))
        raise AssertionError("no thread %d" % thread)

    def frames(self, thread):
        return self.ask("stackTrace", threadId=thread, startFrame=0, levels=20)["stackFrames"]

    def say(self, text):
        return self.ask("evaluate", expression=text, context="repl")["result"]

    def start(self, request, breakpoints=None, **arguments):
        self.ask("initialize", adapterID="pmixhost", linesStartAt1=True, pathFormat="path")
        self.ask(request, **arguments)
        self.event("initialized")
        if breakpoints:
            breakpoints(self)
        self.ask("configurationDone")

    def leave(self, **arguments):
        self.ask("disconnect", **arguments)
        self.process.stdin.close()
        return self.process.wait(PATIENCE)
