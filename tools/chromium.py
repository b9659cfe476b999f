#!/usr/bin/env python3
"""A headless Chromium that a test drives by DevTools messages over two pipes, so without a port or a package.

tools/chromium.py prints where the browser is, and exits 1 where there is none."""
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

# Ubuntu's chromium-browser is a script that asks for the snap.
NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chrome")


def find():
    """The browser's path, or None. TILETUNE_CHROMIUM names one that is elsewhere."""
    chosen = os.environ.get("TILETUNE_CHROMIUM")
    return chosen or next((path for path in map(shutil.which, NAMES) if path), None)


class Failure(Exception):
    pass


class Page:
    """One page, with what it logged and asked of the network."""

    def __init__(self, browser):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.sending = os.pipe()
        self.receiving, from_browser = os.pipe()
        # The browser reads descriptor 3 and writes descriptor 4.
        command = ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", browser, "--headless=new",
                   "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync",
                   f"--user-data-dir={self.profile.name}", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(command, pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.events, self.last_id, self.session = b"", [], 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except (Failure, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.sending)
        os.close(self.receiving)
        self.profile.cleanup()

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.receiving], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Failure("the browser does not answer")
            part = os.read(self.receiving, 1 << 20)
            if not part:
                raise Failure("the browser has ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, seconds=60, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self.sending, rest):]
        deadline = time.monotonic() + seconds
        while True:
            answer = self.receive(deadline)
            if "method" in answer:
                self.events.append(answer)
            elif answer.get("id") == self.last_id:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def evaluate(self, expression):
        """The value of a JavaScript expression; awaits it where it is a promise."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise Failure(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait_for(self, expression, seconds=30):
        """Until the expression is true, looked at in every frame of the page."""
        self.evaluate(f"""new Promise((done, failed) => {{
            const deadline = performance.now() + {seconds * 1000};
            const look = () => ({expression}) ? done(true)
                : performance.now() > deadline ? failed(new Error({json.dumps('never true: ' + expression)}))
                : requestAnimationFrame(look);
            look();
        }})""")

    def open(self, url, width=1280, height=900, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def complaints(self):
        """Errors and warnings of the console, and exceptions."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(" ".join(str(arg.get("value", arg.get("description"))) for arg in parameters["args"]))
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found

    def requests(self):
        """Every address asked for."""
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]


if __name__ == "__main__":
    print(find() or "")
    sys.exit(find() is None)
