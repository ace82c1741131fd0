"""The page of `banyan report` in headless Chromium, with a made-up report: what it
draws, and what a reader can do. Skipped, with the reason, without a browser."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(PROJECT / "scripts"))
import screenshots  # noqa: E402 (the path comes first)

PAGE = PROJECT / "experiments" / "report" / "page"
CHART = ("/usr/share/javascript/chart.js/chart.min.js",
         "/usr/local/share/javascript/chart.js/chart.min.js")
SKIPPED = 77


def filled(report):
    """The page as html_page.cc makes it: one walk over the template."""
    files = {path.name: path for path in PAGE.iterdir()}
    files["glossary.md"] = PROJECT / "docs" / "glossary.md"
    files["chart.min.js"] = next(
        path for path in map(pathlib.Path, CHART) if path.exists())

    def part(match):
        if match[1] == "title":
            return "Does a tree pay?"
        if match[1] == "report":
            return json.dumps(report).replace("<", "\\u003c")
        return files[match[1]].read_text(encoding="utf-8")

    return re.sub(r"\{\{([\w.]+)\}\}", part,
                  files["page.html"].read_text(encoding="utf-8"))


class Page(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name) / "report.html"
        made = subprocess.run(
            [sys.executable, PROJECT / "tests" / "goldens" / "report_sample.py"],
            check=True, capture_output=True, text=True).stdout
        cls.report = json.loads(made)
        cls.path.write_text(filled(cls.report), encoding="utf-8")
        cls.browser = screenshots.Browser(cls.path, downloads=cls.folder.name)
        cls.run_script = cls.browser.run

    @classmethod
    def tearDownClass(cls):
        cls.browser.driver.quit()
        cls.folder.cleanup()

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
        self.assertGreater(len(speeds), 5)
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

    def test_every_plot_is_drawn_or_says_why_not(self):
        drawn = self.script("return charts.size")
        self.assertEqual(drawn, self.script("return plots.length"))

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

    def test_chains_are_hidden_in_crowded_plots_alone(self):
        hidden = self.script(
            "const cells = shownCells(); cells[1].opponent = true; drawPlots();"
            "const chart = charts.get('depth');"
            "const found = chart.data.datasets.filter("
            "    (_, i) => !chart.isDatasetVisible(i)).map((set) => set.label);"
            "const note = document.querySelector('#figure-depth .note').textContent;"
            "cells[1].opponent = false; drawPlots();"
            "return [cells.length, found, note];")
        self.assertGreater(hidden[0], self.script("return crowd"))
        self.assertEqual(len(hidden[1]), 1)
        self.assertIn("click their names", hidden[2])

    def test_words_have_their_meaning(self):
        self.assertGreater(
            self.script("return byId('words').querySelectorAll('dt').length"), 20)
        self.assertIn("autoregressive", self.script(
            "return document.querySelector('abbr[data-word=plain]').title"))

    def test_figures_are_saved(self):
        saved = pathlib.Path(self.folder.name) / "speed_by_size_T0.svg"
        self.script(
            "report.figures = [{plot: 'size', target: view.target, temperature: "
            "Number(view.temperature), file: 'speed_by_size_T0', svg: '<svg/>', "
            "csv: 'a'}]; drawPlots(); "
            "document.querySelector('#figure-size .files a').click()")
        for _ in range(50):
            if saved.exists():
                break
            time.sleep(0.1)
        self.assertEqual(saved.read_text(encoding="utf-8"), "<svg/>")
        self.script("report.figures = []; drawPlots()")

    def test_a_tree_is_saved(self):
        self.press("#tree-svg")
        for _ in range(50):
            saved = [path for path in pathlib.Path(self.folder.name).glob("tree_*.svg")
                     if path.stat().st_size > 0]
            if saved:
                break
            time.sleep(0.1)
        text = saved[0].read_text(encoding="utf-8")
        self.assertTrue(text.startswith("<svg"))
        self.assertIn("--accepted", text)
        self.assertIn('class="node', text)

    def test_the_figure_is_the_programs(self):
        self.script(
            "report.figures = [0, 1].flatMap((t) => ['tokens', 'size', 'depth'].map("
            "(plot) => ({plot, target: view.target, temperature: t, title: plot + t, "
            "file: plot + t, svg: '<svg/>', csv: 'a'}))); drawFigures()")
        titles = "return [...document.querySelectorAll('#drawn img')].map((i) => i.alt)"
        temperature = self.script("return view.temperature")
        self.assertEqual(self.script(titles),
                         [f"tokens{temperature}", f"size{temperature}"])
        self.choose("#temperature", "")
        self.assertEqual(self.script(titles), ["tokens0", "size0", "tokens1", "size1"])
        self.script("report.figures = []")
        self.choose("#temperature", temperature)

    def test_prompts_are_called_by_what_differs(self):
        self.assertEqual(self.script(
            "const all = ['system be kind user how', 'system be kind user who']"
            ".map((prompt, i) => ({id: i, prompt}));"
            "return all.map((sample) => promptLabel(sample, all))"),
            ["0: how", "1: who"])

    def test_hostile_texts_are_inert(self):
        """Texts of the sample would end a script and begin another."""
        self.assertIn("</script>", json.dumps(self.report["experiment"]))
        self.assertEqual(self.script("return document.scripts.length"),
                         filled(self.report).count("</script>"))
        self.assertEqual(self.script(
            "return document.querySelectorAll('#text script').length"), 0)

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
    if not why_not and not any(pathlib.Path(path).exists() for path in CHART):
        why_not = "the package libjs-chart.js is missing"
    if why_not:
        print(f"skipped: {why_not}")
        sys.exit(SKIPPED)
    unittest.main()
