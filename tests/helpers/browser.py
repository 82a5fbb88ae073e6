"""A headless Chromium, driven over a pipe: pages are opened from disk, questions asked, pictures taken.

Chromium reads commands from file descriptor 3 and writes answers to 4, as JSON that a zero byte ends. So neither a web
socket nor a package is needed. Whatever a page says on its console or asks of the network is kept.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
WAIT = 60


def find_browser():
    """Return the program, None where there is none."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


class Browser:
    """One browser, used as a context; `open` a page, then `ask` it."""

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="fastrm-browser-")
        command_end, self.commands = os.pipe()
        self.answers, answer_end = os.pipe()
        ends = {3: command_end, 4: answer_end}

        def arrange():  # the two ends become 3 and 4 of the browser, whatever their numbers are here
            spare = {place: os.dup(end) for place, end in ends.items()}
            high = {place: os.dup2(end, 100 + place) for place, end in spare.items()}
            for place, end in high.items():
                os.dup2(end, place)

        self.process = subprocess.Popen(
            [find_browser(), *FLAGS, f"--user-data-dir={self.home}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=arrange, close_fds=False,
        )  # fmt: skip
        os.close(command_end)
        os.close(answer_end)
        self.rest, self.last, self.session = b"", 0, None
        self.console, self.requests = [], []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        os.close(self.commands)
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.answers)
        shutil.rmtree(self.home, ignore_errors=True)

    def send(self, method, **params):
        """Give a command; return its answer, keeping what happens meanwhile."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            answer = self._read(deadline)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
        raise TimeoutError(method)

    def _read(self, deadline):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(self.answers, 1 << 20) if ready else b""
            if not piece:
                raise TimeoutError("the browser does not answer")
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(line)
        self._keep(message.get("method"), message.get("params", {}))
        return message

    def _keep(self, method, params):
        if method == "Runtime.consoleAPICalled":
            self.console.append(str([arg.get("value", arg.get("description")) for arg in params["args"]]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def open(self, path, fragment="", width=1400, height=1000, dark=False, phone=False):
        """Open a file and wait until it says that it is ready; forget what earlier pages said."""
        self.console.clear()
        self.requests.clear()
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url=Path(path).resolve().as_uri() + fragment)
        deadline = time.monotonic() + WAIT
        while self.ask("document.body && document.body.dataset.ready") != "yes":
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} never became ready: {self.console}")
            time.sleep(0.02)
        return self

    def ask(self, expression):
        """Evaluate an expression on the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", expression))
        return found["result"].get("value")

    def press(self, key):
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def mouse(self, kind, x, y):
        """Press, move or release the mouse: ``mousePressed``, ``mouseMoved``, ``mouseReleased``."""
        buttons = 0 if kind == "mouseReleased" else 1
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=1)

    def photograph(self, path):
        """Save the whole page as a picture."""
        picture = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(picture["data"]))
