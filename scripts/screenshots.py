"""Makes four screenshots of a report's page: 1400 and 420 pixels wide, light and dark.

    python3 scripts/screenshots.py out/hello/report.html --out DIR

Needs the packages chromium-driver and python3-selenium, which scripts/setup docs
installs.
"""

import argparse
import base64
import os
import pathlib
import sys

import system_python

DRIVER = "/usr/bin/chromedriver"
WIDTHS = (1400, 420)
HEIGHT = 1000
LONGEST = 9000  # of a screenshot, in px


def use_python_with_selenium():
    """Starts this program again with the system's Python if this one has no
    selenium. Returns why no browser can be used, or an empty text."""
    missing = system_python.use_python_with("selenium")
    if missing:
        return missing
    if not os.path.exists(DRIVER):
        return "the package chromium-driver is missing"
    from selenium.common.exceptions import WebDriverException
    try:
        with Browser("/dev/null"):
            return ""
    except WebDriverException as error:
        return f"Chromium does not start here: {error.msg.splitlines()[0]}"


class Browser:
    """A headless Chromium that shows one page."""

    def __init__(self, page, width=1400, dark=False, downloads=None):
        from selenium import webdriver
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu",
                         "--disable-dev-shm-usage"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        if downloads:
            options.add_experimental_option(
                "prefs", {"download.default_directory": str(downloads),
                          # Several of one page.
                          "profile.default_content_setting_values."
                          "automatic_downloads": 1})
        service = webdriver.ChromeService if hasattr(
            webdriver, "ChromeService") else webdriver.chrome.service.Service
        self.driver = webdriver.Chrome(options=options, service=service(DRIVER))
        self.width = width
        self._command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self._resize(HEIGHT)
        self.driver.get(pathlib.Path(page).resolve().as_uri())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def run(self, script, *arguments):
        """What the page's script returns."""
        return self.driver.execute_script(script, *arguments)

    def messages(self):
        """What the page has said on the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def screenshot(self, path):
        height = self.run("return document.documentElement.scrollHeight")
        self._resize(min(height, LONGEST))
        shot = self._command("Page.captureScreenshot", captureBeyondViewport=True)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))
        self._resize(HEIGHT)

    def _resize(self, height):
        self._command("Emulation.setDeviceMetricsOverride", width=self.width,
                      height=height, deviceScaleFactor=1, mobile=self.width < 500)

    def _command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", help="a page of `banyan report --format html`")
    parser.add_argument("--out", default=".", metavar="DIR", help="default: here")
    options = parser.parse_args()
    if not os.path.exists(options.page):
        sys.exit(f"{options.page}: No such file")
    why_not = use_python_with_selenium()
    if why_not:
        sys.exit(f"screenshots: {why_not}: run scripts/setup docs")
    folder = pathlib.Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        for dark in (False, True):
            path = folder / f"{width}_{'dark' if dark else 'light'}.png"
            with Browser(options.page, width, dark) as browser:
                browser.screenshot(path)
            print(path)


if __name__ == "__main__":
    main()
