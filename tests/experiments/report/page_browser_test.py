"""The page of `banyan report` in headless Chromium, of a run on the models that ship:
what it draws, and what a reader can do. Skipped, with the reason, without a browser.
The first argument is the built banyan."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(PROJECT / "scripts"))
import screenshots  # noqa: E402 (the path comes first)

SKIPPED = 77
# Texts that would end a script and begin another, or are hard to show.
PROMPTS = [
    "# Ends a script early\nhtml = ('<script>alert(1)</script><!-- <script> "
    "{{page.css}} -->'\n        '\\t&amp; \"gr\u00f6\u00dfer\" \u4e2d\u6587 "
    "\U0001f600')\nassert html.count(",
    "def fibonacci(n):\n",
]


def experiment():
    models = PROJECT / "models"
    return json.dumps({
        "question": "Does a tree pay?</script><script>alert(2)</script>",
        "target": {"directory": str(models / "pycode-target")},
        "workload": {"file": "prompts.jsonl"},
        "limits": {"max_new_tokens": 24},
        "models": {"draft": {"directory": str(models / "pycode-draft-1")}},
        "methods": {
            "one node": {"drafters": [{"name": "small_model", "model": "draft"}],
                         "policy": {"name": "chain", "nodes": 1},
                         "verifier": {"name": "multi_round"}},
            "chain": {"drafters": [{"name": "small_model", "model": "draft"}],
                      "policy": {"name": "chain", "nodes": 4},
                      "verifier": {"name": "multi_round"}},
            "merged": {"drafters": [{"name": "small_model", "model": "draft"},
                                    {"name": "ngram"}],
                       "trunks": [
                           {"drafter": 0, "policy": {"name": "expansion",
                                                     "branching": [2, 2]}},
                           {"drafter": 1, "policy": {"name": "chain", "nodes": 2}}],
                       "verifier": {"name": "multi_round"}},
            "typical": {"drafters": [{"name": "small_model", "model": "draft"}],
                        "policy": {"name": "expansion", "branching": [3, 2]},
                        "verifier": {"name": "typical"}},
        },
        "matrix": {
            "target": {"first": {"target.directory": str(models / "pycode-target")},
                       "other": {"target.directory": str(models / "pycode-draft-2")}},
            "temperature": {"0": {"sampling.temperature": 0},
                            "1": {"sampling.temperature": 1}}},
    })


class Page(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        (folder / "prompts.jsonl").write_text("".join(
            json.dumps({"id": f"p{i}", "kind": "k", "prompt": prompt}) + "\n"
            for i, prompt in enumerate(PROMPTS)))
        (folder / "experiment.yaml").write_text(experiment())
        cls.path = folder / "report.html"
        document = folder / "report.json"
        for arguments in (
                ["run", folder / "experiment.yaml", "--out", folder / "out"],
                ["report", folder / "out", "--format", "html", "--out", cls.path],
                ["report", folder / "out", "--format", "json", "--out", document]):
            done = subprocess.run([PROGRAM, *map(str, arguments)], check=False,
                                  capture_output=True, text=True, cwd=PROJECT)
            if done.returncode:
                raise AssertionError(done.stderr)
        cls.report = json.loads(document.read_text(encoding="utf-8"))
        cls.browser = screenshots.Browser(cls.path, downloads=cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.browser.driver.quit()
        cls.folder.cleanup()

    def saved(self, pattern):
        """The text of a file that the browser saves."""
        for _ in range(50):
            for path in pathlib.Path(self.folder.name).glob(pattern):
                if path.stat().st_size > 0 and path.suffix != ".crdownload":
                    return path.read_text(encoding="utf-8")
            time.sleep(0.1)
        raise AssertionError(f"nothing was saved as {pattern}")

    def script(self, text, *arguments):
        return self.browser.run(text, *arguments)

    def tearDown(self):
        self.assertEqual(self.browser.messages(), [])

    def column(self, name):
        return self.script(
            "const head = [...document.querySelectorAll('#table thead th')];"
            "const at = head.findIndex((th) => th.textContent === arguments[0]);"
            "return [...document.querySelectorAll('#table tbody tr')].map("
            "    (row) => row.children[at].firstChild.textContent);", name)

    def press(self, selector):
        self.script("document.querySelector(arguments[0]).click()", selector)

    def choose(self, selector, value):
        self.script(
            "const select = document.querySelector(arguments[0]);"
            "select.value = arguments[1];"
            "select.dispatchEvent(new Event('change'));", selector, value)

    def test_a_title_sorts_the_cells(self):
        speeds = [float(text) for text in self.column("speed")]
        self.assertGreater(len(speeds), 4)
        self.assertEqual(speeds, sorted(speeds, reverse=True))
        self.press("[data-focus='column speed']")
        self.assertEqual([float(text) for text in self.column("speed")],
                         sorted(speeds))
        self.press("[data-focus='column speed']")

    def test_targets_and_temperatures_filter_the_cells(self):
        target, temperature = self.script("return [view.target, view.temperature]")
        other = next(cell["target"] for cell in self.report["cells"]
                     if cell["target"] != target)
        shown = len(self.column("speed"))
        self.choose("#target", other)
        self.assertEqual(self.script("return view.target"), other)
        self.choose("#temperature", "")
        self.assertGreater(len(self.column("speed")), shown)
        self.choose("#target", target)
        self.choose("#temperature", temperature)
        self.assertEqual(len(self.column("speed")), shown)

    def test_every_figure_of_what_is_chosen_is_drawn(self):
        titles = ("return [...document.querySelectorAll('#drawn .plot .title, "
                  "#figures .plot .title')].map((title) => title.textContent)")
        target, temperature = self.script("return [view.target, view.temperature]")
        wanted = [figure["title"] for figure in self.report["figures"]
                  if figure["target"] == target and
                  figure["temperature"] == float(temperature)]
        self.assertEqual(len(wanted), 8)
        self.assertEqual(self.script(titles), wanted)
        self.choose("#temperature", "")
        self.assertEqual(len(self.script(titles)), 16)
        self.choose("#temperature", temperature)
        self.assertGreater(self.script(
            "return document.querySelectorAll('.plot g title').length"), 20)

    def test_rounds_are_stepped_through(self):
        self.script("showRound(0)")
        first = self.script("return byId('tree').innerHTML")
        self.press("#next")
        self.assertIn("Round 2 of", self.script("return byId('round').textContent"))
        self.assertNotEqual(first, self.script("return byId('tree').innerHTML"))
        self.press("#previous")
        self.assertEqual(first, self.script("return byId('tree').innerHTML"))

    def test_a_node_has_its_probabilities(self):
        titles = self.script(
            "return [...document.querySelectorAll('#tree g title')].map("
            "    (title) => title.textContent)")
        judged = [title for title in titles if "target probability p" in title]
        self.assertGreater(len(judged), 1)
        self.assertTrue(any("min(1, p/q)" in title for title in judged), judged)

    def test_every_number_is_shown_where_asked(self):
        few = self.script("return document.querySelectorAll('#table th').length")
        self.press("#every")
        self.assertGreater(
            self.script("return document.querySelectorAll('#table th').length"), few)
        self.press("#every")

    def test_words_have_their_meaning(self):
        self.assertGreater(
            self.script("return byId('words').querySelectorAll('dt').length"), 20)
        self.assertIn("autoregressive", self.script(
            "return document.querySelector('abbr[data-word=plain]').title"))

    def test_figures_are_saved(self):
        self.press("#drawn .files a")
        figure = next(figure for figure in self.report["figures"]
                      if figure["plot"] == "tokens")
        self.assertEqual(self.saved(f"{figure['file']}.svg"), figure["svg"])

    def test_a_tree_is_saved(self):
        self.press("#tree-svg")
        text = self.saved("tree_*.svg")
        self.assertTrue(text.startswith("<svg"))
        self.assertIn("prefers-color-scheme", text)
        self.assertIn('class="node marked', text)

    def test_prompts_are_called_by_what_differs(self):
        self.assertEqual(self.script(
            "const all = ['system be kind user how', 'system be kind user who']"
            ".map((prompt, i) => ({id: i, prompt}));"
            "return all.map((sample) => promptLabel(sample, all))"),
            ["0: how", "1: who"])

    def test_hostile_texts_are_inert(self):
        self.assertEqual(self.script("return document.querySelector('h1').textContent"),
                         self.report["question"])
        page = self.path.read_text(encoding="utf-8")
        self.assertEqual(self.script("return document.scripts.length"),
                         page.count("</script>"))
        self.choose("#viewer-prompt", "0")
        self.assertIn("alert(1)", self.script("return byId('text').textContent"))
        self.assertEqual(self.script(
            "return document.querySelectorAll('#viewer script').length"), 0)

    def test_it_fits_a_phone_and_has_a_dark_side(self):
        for width in screenshots.WIDTHS:
            grounds = []
            for dark in (False, True):
                with screenshots.Browser(self.path, width, dark) as browser:
                    self.assertLessEqual(
                        browser.run("return document.documentElement.scrollWidth"),
                        width)
                    self.assertEqual(browser.messages(), [])
                    grounds.append(browser.run(
                        "return getComputedStyle(document.body).backgroundColor"))
            self.assertEqual(len(set(grounds)), 2)


if __name__ == "__main__":
    why_not = screenshots.use_python_with_selenium()
    if why_not:
        print(f"skipped: {why_not}")
        sys.exit(SKIPPED)
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
